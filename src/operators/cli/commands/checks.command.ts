import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import type { Catalog, Model } from '../../../catalog/catalog.types.ts';
import { composeEngines } from '../../../catalog/engine-kinds.ts';
import { areListed, type MediaOptions, type MediaSize } from '../../../catalog/media-options.ts';
import type { EngineSettings } from '../../../engines/registry.ts';
import { withTemporaryFolder } from '../../../media/temporary-folder.ts';
import { createProvider } from '../../../providers/create-provider.ts';
import type { CheckStep } from '../../checks/check-step.ts';
import { checkEngine, type EngineCheckPlan } from '../../checks/engine-check.ts';
import { checkProvider } from '../../checks/provider-check.ts';
import type { CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { engineSurroundings, readCatalog } from '../read-catalog.ts';
import { type Column, terminalText, textTable } from '../text-table.ts';

interface CheckOptions {
  readonly catalog?: string;
  readonly model?: string;
  readonly pay?: boolean;
  readonly timeout?: string;
  readonly baseUrl?: string;
}

interface CheckReport {
  /** Id of the engine or provider. */
  readonly id: string;
  readonly model: string;
  readonly ok: boolean;
  readonly steps: readonly CheckStep[];
}

const TIMEOUT_SECONDS = '600';
const PROMPT = 'a lighthouse at dusk, oil on canvas';
const SIDE = 512;
/** The port of the discard service, where nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';

const COLUMNS: readonly Column<CheckStep>[] = [
  { title: 'step', value: (step) => step.step },
  { title: 'result', value: (step) => step.outcome },
  { title: 'time', value: (step) => `${(step.ms / 1_000).toFixed(2)} s`, align: 'right' },
  { title: 'found', value: (step) => step.found },
];

/** `tollgate engines check` and `tollgate providers check`: they connect to the real systems from the machine they run on. */
export function addCheckCommands(program: Command, surroundings: CliSurroundings): void {
  checkCommand(program, 'engines', 'the engines, which make images and videos')
    .description(
      'test a real engine: submit, progress, result, cancel, a wrong request, an unreachable engine',
    )
    .option('--pay', 'run the tests even if the upstream bills them')
    .option('--timeout <seconds>', 'maximum duration of one run, in seconds', TIMEOUT_SECONDS)
    .option(
      '--base-url <address>',
      'address of an engine that a worker starts, instead of the configured one',
    )
    .action((id: string, options: CheckOptions, command: Command) =>
      report(command, surroundings, () => runEngineCheck(id, options, surroundings)),
    );
  checkCommand(program, 'providers', 'the providers, which serve text models')
    .description('test a real provider: JSON, streaming, tools, usage, and what it must reject; costs tokens')
    .action((id: string, options: CheckOptions, command: Command) =>
      report(command, surroundings, () => runProviderCheck(id, options, surroundings)),
    );
}

function checkCommand(program: Command, group: string, about: string): Command {
  return program
    .command(group)
    .description(about)
    .command('check <id>')
    .option('--catalog <file>', 'catalog file; default: TOLLGATE_CONFIG, else ./tollgate.yaml')
    .option('--model <model>', 'a catalog model that is routed there; default: the first');
}

async function runEngineCheck(
  id: string,
  options: CheckOptions,
  { environment }: CliSurroundings,
): Promise<CheckReport> {
  const { file, catalog } = await load(options, environment);
  const entry = addressed(find(catalog.engines, id, 'engine', file), options.baseUrl);
  const model = modelFor(
    catalog,
    options.model,
    ({ engines }) => engines.some(({ engine }) => engine === id),
    id,
  );
  const around = engineSurroundings(file, environment);
  const registry = composeEngines(around, { engines: [entry] }, 1);
  const away = composeEngines(around, { engines: [{ ...entry, base_url: NOWHERE }] }, 1);
  const engine = registry.find(id);
  if (!engine) {
    throw new CliError(`engines: ${id} cannot be created`);
  }
  try {
    const steps = await withTemporaryFolder(tmpdir(), 'check', (folder) =>
      checkEngine({
        engine,
        absent: entry.kind === 'builtin' ? undefined : away.find(id),
        order: orderOf(model, id),
        mayPay: options.pay === true,
        runMs: secondsOf(options.timeout) * 1_000,
        folder,
      }),
    );
    return reportOf(id, model, steps);
  } finally {
    await Promise.all([registry.close(), away.close()]);
  }
}

async function runProviderCheck(
  id: string,
  options: CheckOptions,
  { environment }: CliSurroundings,
): Promise<CheckReport> {
  const { file, catalog } = await load(options, environment);
  const settings = find(catalog.providers, id, 'provider', file);
  const model = modelFor(
    catalog,
    options.model,
    ({ routes }) => routes.some((one) => one.provider === id),
    id,
  );
  const route = model.routes.find((one) => one.provider === id);
  const provider = createProvider(settings);
  try {
    const steps = await checkProvider({
      provider,
      model: route?.model ?? model.id,
      does: model.endpoints.includes('embeddings') ? 'embeddings' : 'text',
      contextLength: settings.protocol === 'builtin' ? undefined : model.contextLength,
      maxOutputTokens: model.maxOutputTokens,
    });
    return reportOf(id, model, steps);
  } finally {
    await provider.close();
  }
}

async function load(
  options: CheckOptions,
  environment: CliSurroundings['environment'],
): Promise<{ file: string; catalog: Catalog }> {
  const file = options.catalog ?? environment.TOLLGATE_CONFIG ?? './tollgate.yaml';
  return { file, catalog: await readCatalog(file, environment) };
}

function find<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  id: string,
  what: string,
  file: string,
): Entry {
  const entry = entries.find((one) => one.id === id);
  if (!entry) {
    const known = entries.map((one) => one.id).join(', ') || 'none';
    throw new CliError(`${file} has no ${what} ${id}; it contains ${known}`, EXIT.usage);
  }
  return entry;
}

/** Returns the engine with its address. The address of a supervised `process` is known only to its worker. */
function addressed(
  { process: supervised, ...entry }: EngineSettings,
  baseUrl: string | undefined,
): EngineSettings {
  if (supervised !== undefined && baseUrl === undefined) {
    throw new CliError(
      `engines.${entry.id} is started by its worker: add --base-url http://127.0.0.1:PORT with the port from that worker's log`,
      EXIT.usage,
    );
  }
  return baseUrl === undefined ? entry : { ...entry, base_url: baseUrl };
}

function modelFor(
  { models }: Catalog,
  wanted: string | undefined,
  isRouted: (model: Model) => boolean,
  id: string,
): Model {
  const routed = [...models.values()].filter(isRouted);
  const model = wanted === undefined ? routed[0] : routed.find((one) => one.id === wanted);
  if (!model) {
    const known = routed.map((one) => one.id).join(', ') || 'none';
    throw new CliError(`no model ${wanted ?? ''} is routed to ${id}; routed there: ${known}`, EXIT.usage);
  }
  return model;
}

function orderOf({ engines, endpoints, media }: Model, id: string): EngineCheckPlan['order'] {
  const { width, height } = sizeOf(media);
  return {
    kind: endpoints.includes('video') ? 'video' : 'image',
    model: engines.find(({ engine }) => engine === id)?.model ?? '',
    prompt: PROMPT,
    width,
    height,
    steps: media?.steps?.default ?? media?.steps?.min,
    seconds: media?.seconds?.[0],
  };
}

function sizeOf(media: MediaOptions | undefined): MediaSize {
  const sizes = media?.sizes ?? { min: SIDE, max: SIDE, multiple: 1 };
  const listed = areListed(sizes) ? sizes[0] : undefined;
  const side = areListed(sizes) ? SIDE : Math.min(Math.max(SIDE, sizes.min), sizes.max);
  return media?.defaultSize ?? listed ?? { width: side, height: side };
}

function secondsOf(text = TIMEOUT_SECONDS): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) {
    throw new CliError(`--timeout must be a number of seconds, not ${text}`, EXIT.usage);
  }
  return Number(text);
}

function reportOf(id: string, model: Model, steps: readonly CheckStep[]): CheckReport {
  return { id, model: model.id, ok: steps.every(({ outcome }) => outcome !== 'failed'), steps };
}

async function report(
  command: Command,
  { stdout, setExitCode }: CliSurroundings,
  run: () => Promise<CheckReport>,
): Promise<void> {
  const done = await run();
  const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
  stdout.write(`${json ? JSON.stringify(done, null, 2) : textOf(done)}\n`);
  if (!done.ok) {
    setExitCode(EXIT.refused);
  }
}

function textOf({ id, model, ok, steps }: CheckReport): string {
  const said = steps.flatMap(({ step, said: words }) =>
    words === null ? [] : [`${step}, the upstream said: ${terminalText(words)}`],
  );
  const verdict = `${id} with ${model}: ${ok ? 'all tests passed' : 'some tests failed'}`;
  return [verdict, '', textTable(COLUMNS, steps), ...(said.length > 0 ? ['', ...said] : [])].join('\n');
}

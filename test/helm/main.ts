import assert from 'node:assert/strict';
import { join } from 'node:path';
import { markdownTable } from '../../bench/measure/table.ts';
import { clientCache } from '../clients/client-cache.ts';
import { missingPrograms } from '../clients/run-program.ts';
import { CHART, defaults, VALUE_FILES, valuesOf } from '../deployment/chart.ts';
import { CHECKS } from './checks.ts';
import { environment } from './environment.ts';
import { objectsOf, type Rendered } from './rendered.ts';
import { type CheckModel, decodeStrictly, findHelm, installModels, KUBERNETES, runHelm } from './tools.ts';

/** One check of a set of values. */
interface Row {
  readonly values: string;
  readonly check: string;
  /** Resolves to what was seen. Rejects with what is wrong. */
  run(): Promise<string>;
}

/** Values that helm must reject, and its messages. */
const REFUSED: readonly (readonly [values: readonly string[], said: RegExp])[] = [
  [[], /settings\.PUBLIC_URL is required/],
  [['settings.PUBLIC_URL=https://x.example.com'], /S3_BUCKET are required/],
  [['settings.PUBLIC_URL=https://x.example.com', 'settings.ADMIN_TOKEN=x'], /ADMIN_TOKEN/],
  [
    ['api.enabled=false', 'workers.chores.access=remote'],
    /workers\.chores\.(catalog|secret|api) is required/,
  ],
];

/**
 * `npm run test:helm`: lints the chart, renders it with each file of ops/helm/tollgate/ci, decodes the objects into the types of Kubernetes
 * and checks them against their schemas. Prints a table; exit code 1 when a row fails. Without helm and Go it tests nothing, and says so.
 */
async function main(): Promise<number> {
  const cache = clientCache(process.env);
  const helm = await findHelm(cache);
  if (helm === undefined) {
    process.stderr.write('test:helm SKIPPED: neither helm nor go (which builds helm) found\n');
    return 0;
  }
  const checkModel = await installModels(cache);
  const isDecoding = missingPrograms(['go']).length === 0;
  if (!isDecoding) {
    process.stderr.write('test:helm SKIPPED strict decoding: go not found\n');
  }
  const version = (await runHelm(helm, ['version', '--short'])).trim();
  const rows = VALUE_FILES.flatMap((file) => rowsOf(helm, file, checkModel, isDecoding));
  const refusals = REFUSED.map(([values, said]) => refusalRow(helm, values, said));
  const first = { values: '', check: 'helm', run: async () => `${version}, Kubernetes ${KUBERNETES}` };
  return (await allPass([first, ...rows, ...refusals])) ? 0 : 1;
}

/** Runs rows one after the other and prints them as a table. */
async function allPass(rows: readonly Row[]): Promise<boolean> {
  const table: string[][] = [['Values', 'Check', 'Seen', '']];
  for (const { values, check, run } of rows) {
    const seen = await run().then(
      (text) => [text, 'ok'],
      (error: unknown) => [String(error).replaceAll(/\s+/g, ' '), '**no**'],
    );
    table.push([values, check, ...seen]);
  }
  process.stdout.write(`${markdownTable(table)}\n`);
  return table.every((cells) => cells.at(-1) !== '**no**');
}

function rowsOf(helm: string, file: string, checkModel: CheckModel, isDecoding: boolean): Row[] {
  const values = join(CHART, file);
  let rendered: Rendered | undefined;
  const render = async () => {
    const args = ['template', 'check', CHART, '--kube-version', KUBERNETES, '--values', values];
    const text = await runHelm(helm, args);
    rendered ??= { file, values: valuesOf(file), text, objects: objectsOf(text) };
    return rendered;
  };
  const row = (call: string, run: (it: Rendered) => Promise<string> | string): Row => ({
    values: file,
    check: call,
    run: async () => run(rendered ?? (await render())),
  });
  return [
    row('helm lint --strict', async () => {
      await runHelm(helm, ['lint', '--strict', CHART, '--kube-version', KUBERNETES, '--values', values]);
      return 'no warnings';
    }),
    row('what each kind requires', async ({ objects }) => {
      for (const object of objects) {
        await checkModel(object).catch((error: Error) => {
          throw new Error(`${object.kind} ${object.metadata.name}: ${error.message}`, { cause: error });
        });
      }
      return `${objects.length} objects`;
    }),
    ...(isDecoding ? [row('strict decoding', ({ text }) => decodeStrictly(text))] : []),
    ...[...CHECKS, environment].map((check) => row(check.name, (it) => check.run(it))),
  ];
}

function refusalRow(helm: string, values: readonly string[], said: RegExp): Row {
  return {
    values: values.join(', ') || 'only the defaults',
    check: 'is rejected',
    run: async () => {
      const set = values.flatMap((value) => ['--set', value]);
      const render = runHelm(helm, ['template', 'check', CHART, '--kube-version', KUBERNETES, ...set]);
      const answer = await render.then(
        () => 'rendered',
        (error: Error) => error.message,
      );
      assert.match(answer, said);
      return answer.slice(0, 160);
    },
  };
}

assert.ok(defaults().settings.PUBLIC_URL === '', 'the defaults must not form a complete installation');
process.exitCode = await main();

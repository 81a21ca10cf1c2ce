import { join } from 'node:path';
import type { Logger } from '../../lib/logger.ts';
import type { Engine } from '../engine.types.ts';
import type { Gpu } from '../gpu-slots.ts';
import { type EngineKind, type EngineSettings, EngineSettingsError } from '../registry.ts';
import { EngineGroup } from './engine-group.ts';
import { EngineProcess, SUPERVISION_CLOCKS, type SupervisionClocks } from './engine-process.ts';
import { findFreePort } from './free-port.ts';
import { clearLeftover } from './process-record.ts';
import { type ProcessSettings, parseProcess } from './process-settings.ts';

export interface SupervisionOptions {
  readonly gpus: readonly Pick<Gpu, 'index'>[];
  /** Whether this process runs the work of a pool: only then are its servers started here. */
  readonly serves: (pool: string) => boolean;
  /** Logs go to `logs` below it. */
  readonly dataFolder: string;
  /** Our environment, of which engines see what is harmless. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly clocks?: SupervisionClocks;
}

interface Pool {
  readonly settings: ProcessSettings;
  readonly servers: readonly EngineProcess[];
}

/** Never called: an engine that is not served here only tells what it can do. */
const NOWHERE = 'http://127.0.0.1:9';

/** The servers of engines that have a `process` in tollgate.yaml. Owns them. */
export class EngineSupervision {
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #onExit = (): void => this.#kill();

  constructor(pools: ReadonlyMap<string, Pool> = new Map()) {
    this.#pools = pools;
    if (pools.size > 0) {
      process.once('exit', this.#onExit);
    }
  }

  /** The entries as the registry builds them: `slots: auto`, or none, is one per server. */
  resolve(entries: readonly EngineSettings[]): EngineSettings[] {
    return entries.map((entry) => {
      const servers = this.#pools.get(entry.id)?.servers.length;
      const automatic = entry.slots === undefined || entry.slots === 'auto';
      return servers !== undefined && automatic ? { ...entry, slots: servers } : entry;
    });
  }

  /** The kinds, taught to build an entry with a `process` on the addresses of its servers. */
  extend(kinds: ReadonlyMap<string, EngineKind>): Map<string, EngineKind> {
    const extended = [...kinds].map(([name, kind]): [string, EngineKind] => [
      name,
      { ...kind, create: (entry) => this.#create(kind, entry) },
    ]);
    return new Map(extended);
  }

  /** How many servers of a pool run here, and how many of those can take work. */
  status(pool: string): { readonly servers: number; readonly ready: number } {
    const servers = this.#pools.get(pool)?.servers ?? [];
    return { servers: servers.length, ready: servers.filter((server) => server.ready).length };
  }

  /** Stops every server: SIGTERM, then SIGKILL. To be called when nothing runs on them any more. */
  async close(): Promise<void> {
    await Promise.all(this.#servers().map((server) => server.close()));
    process.off('exit', this.#onExit);
  }

  #create(kind: EngineKind, entry: EngineSettings): Engine {
    const { process: wanted, ...rest } = entry;
    if (wanted === undefined) {
      return kind.create(entry);
    }
    const pool = this.#pools.get(entry.id);
    const [first, ...others] = (pool?.servers ?? []).map((server) => ({
      engine: kind.create({ ...rest, base_url: server.baseUrl }),
      server,
    }));
    return first ? new EngineGroup(first, others) : kind.create({ ...rest, base_url: NOWHERE });
  }

  #servers(): EngineProcess[] {
    return [...this.#pools.values()].flatMap((pool) => [...pool.servers]);
  }

  /** Our process ends without having closed us: servers must not stay behind with the GPUs. */
  #kill(): void {
    for (const server of this.#servers()) {
      server.kill();
    }
  }
}

/**
 * Starts the servers of the entries with a `process` whose pools are served here: one per GPU, or a single one on a host without.
 * They get ready while the caller goes on. Throws EngineSettingsError, also when another worker of this host has started them.
 */
export async function superviseEngines(
  entries: readonly EngineSettings[],
  options: SupervisionOptions,
): Promise<EngineSupervision> {
  const plans = entries.flatMap((entry) => {
    const settings = parseProcess(entry);
    return settings && options.serves(entry.id) ? [{ entry, settings }] : [];
  });
  const places = plans.flatMap(({ entry, settings }) =>
    gpusOf(entry, settings, options.gpus).map((gpu) => ({ entry, settings, gpu })),
  );
  const named = places.map((place) => ({
    ...place,
    name: place.gpu === undefined ? place.entry.id : `${place.entry.id}-gpu${place.gpu}`,
  }));
  for (const { entry, name } of named) {
    const owner = await clearLeftover(recordFile(options, name));
    if (owner) {
      throw new EngineSettingsError(
        `engines.${entry.id}.process: worker ${owner.pid} of this host already runs it; one worker per host can`,
      );
    }
  }
  const pools = new Map<string, Pool>();
  for (const { entry, settings, gpu, name } of named) {
    const server = new EngineProcess(
      {
        name,
        settings,
        place: { gpu, port: await findFreePort() },
        variables: options.variables,
        logFile: join(options.dataFolder, 'logs', `engine-${name}.log`),
        recordFile: recordFile(options, name),
        clocks: options.clocks ?? SUPERVISION_CLOCKS,
      },
      options.log,
    );
    pools.set(entry.id, { settings, servers: [...(pools.get(entry.id)?.servers ?? []), server] });
  }
  return new EngineSupervision(pools);
}

function recordFile({ dataFolder }: SupervisionOptions, name: string): string {
  return join(dataFolder, 'engines', `${name}.json`);
}

/** Indices of the GPUs to run on; `[undefined]` where the host has none. */
function gpusOf(
  entry: EngineSettings,
  settings: ProcessSettings,
  gpus: SupervisionOptions['gpus'],
): (number | undefined)[] {
  const present = gpus.map((gpu) => gpu.index);
  const missing = settings.gpus?.find((index) => !present.includes(index));
  if (missing !== undefined) {
    throw new EngineSettingsError(`engines.${entry.id}.process.gpus: this host has no GPU ${missing}`);
  }
  const wanted = [...new Set(settings.gpus ?? present)];
  return wanted.length === 0 ? [undefined] : wanted;
}

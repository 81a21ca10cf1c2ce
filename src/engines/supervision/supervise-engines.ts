import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '../../lib/logger.ts';
import type { Engine } from '../engine.types.ts';
import type { Gpu } from '../gpu-slots.ts';
import { type EngineKind, type EngineSettings, EngineSettingsError } from '../registry.ts';
import { EngineGroup } from './engine-group.ts';
import { EngineProcess, SUPERVISION_CLOCKS, type SupervisionClocks } from './engine-process.ts';
import { clearLeftover } from './process-record.ts';
import { type ProcessSettings, parseProcess } from './process-settings.ts';
export interface SupervisionOptions {
  readonly gpus: readonly Pick<Gpu, 'index'>[];
  /** Returns whether this process runs the work of a pool. Servers are started only for such pools. */
  readonly serves: (pool: string) => boolean;
  /** Logs are written to `logs` in this folder. */
  readonly dataFolder: string;
  /** Our environment variables. Engines get only the harmless ones. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Called after each start of a server, including those after a crash. */
  readonly onStart?: (pool: string, gpu: number | undefined) => void;
  readonly clocks?: SupervisionClocks;
}

/** A server that should run. */
interface Plan {
  readonly entry: EngineSettings;
  readonly settings: ProcessSettings;
  readonly gpu: number | undefined;
  /** For log lines and file names: engine and GPU. */
  readonly name: string;
}

interface Server {
  readonly plan: Plan;
  readonly process: EngineProcess;
}

/** A placeholder that is never called: an engine that is not served here only reports its capabilities. */
const NOWHERE = 'http://127.0.0.1:9';

/** Runs the servers of engines that have a `process` in tollgate.yaml, for the pools that are served here. Owns them. */
export class EngineSupervision {
  readonly #options: SupervisionOptions | undefined;
  #servers: readonly Server[] = [];
  readonly #onExit = (): void => this.#kill();

  /** Starts nothing before {@link renew}, and never anything without options. */
  constructor(options?: SupervisionOptions) {
    this.#options = options;
  }

  /** Returns in one line why these entries cannot be served here; undefined when no reason is known. */
  mistake(entries: readonly EngineSettings[]): string | undefined {
    try {
      this.#plan(entries);
      return undefined;
    } catch (error) {
      if (error instanceof EngineSettingsError) {
        return error.message;
      }
      throw error;
    }
  }

  /**
   * Runs the servers of these entries: one per GPU, or a single one on a host without GPUs. Servers whose settings are unchanged keep
   * running with their models loaded; the others are stopped, so nothing may be running on them. Does not wait for new servers to become
   * ready. Throws EngineSettingsError before changing anything, also when another worker of this host runs one of them.
   */
  async renew(entries: readonly EngineSettings[]): Promise<void> {
    const plans = this.#plan(entries);
    const kept = this.#servers.filter(({ plan }) => plans.some((wanted) => isSamePlan(plan, wanted)));
    const missing = plans.filter((wanted) => !kept.some(({ plan }) => isSamePlan(plan, wanted)));
    const left = this.#servers.filter((server) => !kept.includes(server));
    for (const { entry, name } of missing) {
      await this.#requireFree(entry, name);
    }
    await Promise.all(left.map((server) => server.process.close()));
    this.#servers = kept;
    for (const plan of missing) {
      this.#servers = [...this.#servers, { plan, process: await this.#start(plan) }];
    }
    process.off('exit', this.#onExit);
    if (this.#servers.length > 0) {
      process.once('exit', this.#onExit);
    }
  }

  /** Returns the entries for the registry: `slots: auto`, or no `slots`, becomes one per server. */
  resolve(entries: readonly EngineSettings[]): EngineSettings[] {
    return entries.map((entry) => {
      const servers = this.#serversOf(entry.id).length;
      const automatic = entry.slots === undefined || entry.slots === 'auto';
      return servers > 0 && automatic ? { ...entry, slots: servers } : entry;
    });
  }

  /** Returns the kinds, extended to build an entry with a `process` for the addresses of its servers. */
  extend(kinds: ReadonlyMap<string, EngineKind>): Map<string, EngineKind> {
    const extended = [...kinds].map(([name, kind]): [string, EngineKind] => [
      name,
      { ...kind, create: (entry) => this.#create(kind, entry) },
    ]);
    return new Map(extended);
  }

  /** The pools that have servers in this process. */
  get pools(): string[] {
    return [...new Set(this.#servers.map(({ plan }) => plan.entry.id))];
  }

  /** Returns how many servers of a pool run here, and how many of those are ready. */
  status(pool: string): { readonly servers: number; readonly ready: number } {
    const servers = this.#serversOf(pool);
    return { servers: servers.length, ready: servers.filter((server) => server.ready).length };
  }

  /** Stops every server: SIGTERM, then SIGKILL. Call it only when nothing runs on them. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.process.close()));
    process.off('exit', this.#onExit);
  }

  #create(kind: EngineKind, entry: EngineSettings): Engine {
    const { process: wanted, ...rest } = entry;
    if (wanted === undefined) {
      return kind.create(entry);
    }
    const [first, ...others] = this.#serversOf(entry.id).map((server) => ({
      engine: kind.create({ ...rest, base_url: server.baseUrl }),
      server,
    }));
    return first ? new EngineGroup(first, others) : kind.create({ ...rest, base_url: NOWHERE });
  }

  #serversOf(pool: string): EngineProcess[] {
    return this.#servers.filter(({ plan }) => plan.entry.id === pool).map((server) => server.process);
  }

  /** Throws EngineSettingsError. */
  #plan(entries: readonly EngineSettings[]): Plan[] {
    const { serves = () => false, gpus = [] } = this.#options ?? {};
    return entries.flatMap((entry) => {
      const settings = parseProcess(entry);
      return settings && serves(entry.id)
        ? gpusOf(entry, settings, gpus).map((gpu) => {
            const name = gpu === undefined ? entry.id : `${entry.id}-gpu${gpu}`;
            return { entry, settings, gpu, name };
          })
        : [];
    });
  }

  async #requireFree(entry: EngineSettings, name: string): Promise<void> {
    const owner = await clearLeftover(recordFile(this.#required, name));
    if (owner) {
      throw new EngineSettingsError(
        `engines.${entry.id}.process: worker ${owner.pid} of this host already runs it; only one worker per host can`,
      );
    }
  }

  async #start({ entry, settings, gpu, name }: Plan): Promise<EngineProcess> {
    const options = this.#required;
    return new EngineProcess(
      {
        name,
        settings,
        place: { gpu, port: await findFreePort() },
        variables: options.variables,
        logFile: join(options.dataFolder, 'logs', `engine-${name}.log`),
        recordFile: recordFile(options, name),
        clocks: options.clocks ?? SUPERVISION_CLOCKS,
        onStart: () => options.onStart?.(entry.id, gpu),
      },
      options.log,
    );
  }

  get #required(): SupervisionOptions {
    if (!this.#options) {
      throw new Error('an EngineSupervision without options serves no pool');
    }
    return this.#options;
  }

  /** Runs when our process exits without calling {@link close}: the servers must not keep the GPUs. */
  #kill(): void {
    for (const server of this.#servers) {
      server.process.kill();
    }
  }
}

/** Starts the servers of the entries with a `process` whose pools are served here. Throws what {@link EngineSupervision.renew} throws. */
export async function superviseEngines(
  entries: readonly EngineSettings[],
  options: SupervisionOptions,
): Promise<EngineSupervision> {
  const supervision = new EngineSupervision(options);
  await supervision.renew(entries);
  return supervision;
}

function isSamePlan(one: Plan, other: Plan): boolean {
  return one.name === other.name && JSON.stringify(one.settings) === JSON.stringify(other.settings);
}

function recordFile({ dataFolder }: SupervisionOptions, name: string): string {
  return join(dataFolder, 'engines', `${name}.json`);
}

/** Returns the indices of the GPUs to run on; `[undefined]` when the host has none. */
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

/** Finds a free port on the loopback address. Rejects when there is none. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

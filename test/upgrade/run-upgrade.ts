import { choosePort } from '../../ops/embedded/free-port.ts';
import { auditBooks, auditCalls } from '../chaos/audit.ts';
import { type RunningLoad, startClients } from '../chaos/load-client.ts';
import { OutcomeLog } from '../chaos/outcome-log.ts';
import { pause } from '../chaos/pause.ts';
import type { ChaosServices } from '../chaos/services.ts';
import type { ChaosAccount } from '../chaos/stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../chaos/task-client.ts';
import { words } from '../chaos/upstream-words.ts';
import { startNginx } from '../deployment/nginx.ts';
import type { Build } from './previous-build.ts';
import { RollingInstallation } from './rolling-installation.ts';
import { askWitness, makeWitness, type Witness } from './witness.ts';

/** Number of clients, which wait for their answers. Half of the answers are streams. */
const CLIENTS = 24;
/** Number of words in an answer, and the pause between two of them in ms. */
const ANSWER = { words: 20, tokenDelayMs: 100 };
const ORDERS_PER_SECOND = 2;
const ACCOUNTS = 6;
/** Time spent in each state before the next step, in ms. */
const STEADY_MS = 10_000;
const TASKS_END_MS = 120_000;
const HOLDS_END_MS = 5_000;

/** One state of the installation, with the outcome of the calls from the step that led to it until the next step. */
export interface PhaseRow {
  readonly phase: string;
  readonly seconds: number;
  readonly calls: number;
  readonly streams: number;
  readonly failed: number;
  readonly p99Ms: number;
}

export interface UpgradeReport {
  readonly rows: readonly PhaseRow[];
  /** Facts at the end: tasks, witnesses, books. */
  readonly facts: readonly string[];
  /** What went wrong; empty when upgrade and rollback had no visible effect. */
  readonly failures: readonly string[];
}

/**
 * Upgrades from one build to the other under calls, streams and orders of images, rolls back, and upgrades again. Each time it migrates
 * beside the old processes, then replaces one process at a time. Finally, every call is compared with the books.
 */
export async function runUpgrade(
  services: ChaosServices,
  { before, present }: { readonly before: Build; readonly present: Build },
  onProgress: (line: string) => void,
): Promise<UpgradeReport> {
  services.upstream.reset({ words: words(ANSWER.words), tokenDelayMs: ANSWER.tokenDelayMs });
  const port = await choosePort();
  const url = `http://127.0.0.1:${port}`;
  const installation = await RollingInstallation.start(services, before, url);
  const nginx = await startNginx(port, installation.sockets);
  const run = new UpgradeRun(installation, url, onProgress);
  await run.startLoad();
  await run.enter(before.name, async () => []);
  await run.enter(`${before.name} on the new schema`, () => run.migrate(present));
  await run.enter(present.name, () => installation.roll(present));
  await run.enter(`back to ${before.name}`, async () => {
    // Compose runs the migration at every start
    await run.migrate(before);
    return await installation.roll(before);
  });
  await run.verify(before);
  await run.enter(`${present.name} again`, async () => {
    await run.migrate(present);
    return await installation.roll(present);
  });
  const report = await run.audit(present);
  await installation.stop();
  await nginx.stop();
  return report;
}

/** Sends load to an installation and records what happens. */
class UpgradeRun {
  readonly #installation: RollingInstallation;
  readonly #url: string;
  readonly #onProgress: (line: string) => void;
  readonly #log = new OutcomeLog();
  readonly #told: ToldTasks = { accepted: [], refused: 0 };
  readonly #witnesses: Witness[] = [];
  /** Request ids of the calls that witnesses make. */
  readonly #requestIds: string[] = [];
  readonly #rows: PhaseRow[] = [];
  readonly #failures: string[] = [];
  #loads: RunningLoad[] = [];

  constructor(installation: RollingInstallation, url: string, onProgress: (line: string) => void) {
    this.#installation = installation;
    this.#url = url;
    this.#onProgress = onProgress;
  }

  async startLoad(): Promise<void> {
    const accounts: ChaosAccount[] = [];
    for (let place = 0; place < ACCOUNTS; place += 1) {
      accounts.push({ id: '', key: await this.#installation.openAccount('1000') });
    }
    const target = { urls: () => [this.#url], accounts };
    const spreadMs = ANSWER.words * ANSWER.tokenDelayMs;
    this.#loads = [
      startClients({ ...target, log: this.#log, streamShare: 0.5 }, CLIENTS, spreadMs),
      startOrders({ ...target, told: this.#told }),
    ];
  }

  /** Runs the step that leads to a state, uses the state for a while, and requests everything that was created in earlier states. */
  async enter(phase: string, step: () => Promise<readonly (number | null)[]>): Promise<void> {
    this.#onProgress(`${phase} …`);
    const [from, startedAt] = [this.#log.calls.length, performance.now()];
    const codes = await step();
    this.#failures.push(...codes.map((code) => `${phase}: a process ended with ${code}`));
    await pause(STEADY_MS);
    for (const witness of this.#witnesses) {
      await askWitness(this.#url, witness, this.#requestIds).catch((error: Error) => {
        this.#failures.push(`${phase}: lost what ${witness.of} created: ${error.message}`);
      });
    }
    const made = makeWitness(this.#installation, this.#url, phase, this.#requestIds);
    await made.then(
      (witness) => this.#witnesses.push(witness),
      (error: Error) => this.#failures.push(`${phase}: a new customer is not served: ${error.message}`),
    );
    this.#rows.push(rowOf(phase, this.#log, from, performance.now() - startedAt));
  }

  async migrate(build: Build): Promise<readonly never[]> {
    this.#onProgress(`the migration of ${build.name}: ${await this.#installation.migrate(build)}`);
    return [];
  }

  /** Runs the operator's proof of the books and records any result that is not "ok". */
  async verify({ name }: Build): Promise<void> {
    const { data } = await this.#installation.admin<{
      data: { ok: boolean; violations: readonly unknown[] };
    }>('/admin/v1/ledger/verify');
    if (!data.ok) {
      this.#failures.push(`verify of ${name}: ${JSON.stringify(data.violations).slice(0, 500)}`);
    }
  }

  /** Ends the load and compares the books with what every client was told. */
  async audit(build: Build): Promise<UpgradeReport> {
    await Promise.all(this.#loads.map((load) => load.stop()));
    const { ownerUrl } = this.#installation;
    const [log, told] = [this.#log, this.#told];
    const tasks = await auditTasks(ownerUrl, told, TASKS_END_MS);
    const calls = await auditCalls(ownerUrl, log.calls, this.#requestIds);
    this.#failures.push(
      ...(await auditBooks(ownerUrl, HOLDS_END_MS)),
      ...calls.wrong,
      ...tasks.wrong,
      ...Object.entries(log.troubles).map(([trouble, times]) => `${times} calls failed: ${trouble}`),
      ...(told.refused > 0 ? [`${told.refused} orders of images were not accepted`] : []),
    );
    await this.verify(build);
    const facts = [
      `${log.calls.length} calls, ${log.calls.length - calls.told} failed`,
      `${told.accepted.length} images ordered, ${told.refused} rejected; including those of new customers, ${tasks.succeeded} succeeded and ${tasks.failed} failed as requested`,
      `${this.#witnesses.length} new customers, each with a key, a call and an image that are requested in every later state`,
    ];
    return { rows: this.#rows, facts, failures: this.#failures };
  }
}

/** Orders images until it is stopped; the engine fails every fifth one. */
function startOrders(options: {
  readonly urls: () => readonly string[];
  readonly accounts: readonly ChaosAccount[];
  readonly told: ToldTasks;
}): RunningLoad {
  let isStopping = false;
  const running = (async () => {
    while (!isStopping) {
      await orderTasks({ ...options, perSecond: ORDERS_PER_SECOND, count: 5 });
    }
  })();
  return {
    stop: () => {
      isStopping = true;
      return running;
    },
  };
}

function rowOf(phase: string, log: OutcomeLog, from: number, milliseconds: number): PhaseRow {
  const part = new OutcomeLog();
  part.calls.push(...log.calls.slice(from));
  return {
    phase,
    seconds: milliseconds / 1_000,
    calls: part.calls.length,
    streams: part.count(({ streamed }) => streamed),
    failed: part.calls.length - part.answered,
    p99Ms: part.latencyMs(0.99),
  };
}

import { join } from 'node:path';
import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { isShed, OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import { startReplicatedPostgres } from '../replicated-postgres.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { ADMIN_TOKEN, type ChaosAccount, type ChaosStack, startStack, throughPort } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';

const CALLS_PER_SECOND = 20;
const TASKS = 30;
const SWITCHOVERS = 2;
/** How long the address still leads to the former primary, now a standby, in ms. */
const ADDRESS_BEHIND_MS = 4_000;
const NORMAL_WITHIN_MS = 15_000;
const BETWEEN_MS = 20_000;
const STEP_NANO_USD = 10_000_000n;

export const movedPostgres: ChaosScenario = {
  id: 'A7',
  fault: `Postgres is switched over to its standby ${SWITCHOVERS} times: the former primary comes back as a standby, 4 s later the address moves, under ${CALLS_PER_SECOND} calls/s, ${TASKS} tasks, steady writes and reads`,
  asked: '0 lost, every read fresh, normal within 15 s of the move without a restart',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 20 });
    const postgres = await startReplicatedPostgres(join(services.folder, 'replicated'));
    const through = throughPort(postgres.address.port);
    const stack = await startStack(
      { ...services, createDatabase: postgres.createDatabase },
      { apis: 2, workers: [[]], databaseUrl: through },
    );
    try {
      const ownerUrl = through(stack.database.ownerUrl);
      const accounts = await Promise.all(Array.from({ length: 10 }, () => stack.openAccount('1000')));
      const log = new OutcomeLog();
      const target = { urls: () => stack.urls, accounts };
      const load = startLoad({ ...target, log, perSecond: CALLS_PER_SECOND, streamShare: 0.5 });
      const told: ToldTasks = { accepted: [], refused: 0 };
      const seconds = SWITCHOVERS * ((BETWEEN_MS + ADDRESS_BEHIND_MS) / 1_000);
      const orders = orderTasks({ ...target, perSecond: TASKS / seconds, count: TASKS, told });
      const books = followBalance(stack, await stack.openAccount('1.00'));
      const normalAfterMs: number[] = [];
      for (let times = 0; times < SWITCHOVERS; times += 1) {
        await pause(BETWEEN_MS / 2);
        await postgres.switchOver();
        await pause(ADDRESS_BEHIND_MS);
        postgres.moveAddress();
        const movedAt = Date.now();
        await pause(BETWEEN_MS);
        const last = (failed: readonly number[]) => Math.max(movedAt, ...failed.filter((at) => at > movedAt));
        // shed calls do not count: on a busy machine the API may be overloaded, which another row covers
        const refused = log.calls
          .filter((call) => call.outcome !== 'answered' && !isShed(call))
          .map(({ endedAt }) => endedAt);
        normalAfterMs.push(Math.max(last(refused), last(books.failedAt)) - movedAt);
      }
      await Promise.all([load.stop(), orders, books.stop()]);
      await expireHolds(ownerUrl);
      const tasks = await auditTasks(ownerUrl, told, 60_000);
      const violations = await auditBooks(ownerUrl, 30_000);
      const { told: answered, wrong } = await auditCalls(ownerUrl, log.calls);
      const slowest = Math.max(...normalAfterMs);
      const shown = normalAfterMs.map((ms) => (ms / 1_000).toFixed(1)).join(', ');
      return {
        measured: `back to normal ${shown} s after the address moved; ${answered} of ${log.calls.length} calls answered and booked correctly; ${tasks.succeeded} tasks charged once, ${tasks.failed} failed without charge; ${books.written} writes, ${books.read} reads, ${books.stale.length} of them stale`,
        failures: [
          ...(slowest > NORMAL_WITHIN_MS
            ? [`normal only after ${slowest} ms: ${JSON.stringify(log.troubles)}`]
            : []),
          ...(books.written < 20 || books.read < 100 ? ['inconclusive: too few writes and reads'] : []),
          ...books.stale,
          ...tasks.wrong,
          ...wrong,
          ...violations,
        ],
      };
    } finally {
      await stack.stop();
      await postgres.close();
    }
  },
};

interface FollowedBalance {
  /** Times of failed writes and reads, in Unix ms. */
  readonly failedAt: readonly number[];
  readonly stale: readonly string[];
  readonly written: number;
  readonly read: number;
  stop(): Promise<void>;
}

/** Repeatedly adds to a balance and reads it on every process. A read must include everything that was acknowledged before it began. */
function followBalance(stack: ChaosStack, account: ChaosAccount): FollowedBalance {
  const failedAt: number[] = [];
  const stale: string[] = [];
  const counts = { written: 0, read: 0 };
  let stopped = false;
  const write = async (turn: number) => {
    const path = `/admin/v1/accounts/${account.id}/adjustments`;
    const body = { amount: '0.01', description: 'a step' };
    counts.written += (await answered(stack.urls, turn, path, ADMIN_TOKEN, body)) ? 1 : 0;
  };
  const read = async (turn: number) => {
    const acknowledged = counts.written;
    const answer = await answered(stack.urls, turn, '/api/v1/credits', account.key);
    if (answer === undefined) {
      return;
    }
    counts.read += 1;
    const { total_credits: total } = ((await answer.json()) as { data: { total_credits: string } }).data;
    const steps = BigInt(Math.round((Number(total) - 1) * 1e9)) / STEP_NANO_USD;
    if (steps < BigInt(acknowledged)) {
      stale.push(
        `${acknowledged} steps were acknowledged, but a read at ${new Date().toISOString()} saw only ${steps}`,
      );
    }
  };
  const answered = async (
    urls: readonly string[],
    turn: number,
    path: string,
    token: string,
    body?: unknown,
  ): Promise<Response | undefined> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(urls[turn % urls.length] + path, {
      headers,
      signal: AbortSignal.timeout(20_000),
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    }).catch(() => undefined);
    if (response?.ok !== true) {
      failedAt.push(Date.now());
      return undefined;
    }
    return response;
  };
  const repeat = async (act: (turn: number) => Promise<void>, everyMs: number) => {
    for (let turn = 0; !stopped; turn += 1) {
      await act(turn);
      await pause(everyMs);
    }
  };
  const running = [repeat(write, 250), ...Array.from({ length: 4 }, () => repeat(read, 150))];
  return {
    failedAt,
    stale,
    get written() {
      return counts.written;
    },
    get read() {
      return counts.read;
    },
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
  };
}

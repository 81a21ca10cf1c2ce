import { auditBooks, auditCalls, queryOwner, untilNoHolds } from '../audit.ts';
import { DEATH_POINTS, type DeathPoint } from '../death-points.ts';
import { KeyedCalls } from '../keyed-calls.ts';
import { KeyedOrders } from '../keyed-orders.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosFinding, ChaosScenario } from '../scenario.types.ts';
import type { ChaosServices } from '../services.ts';
import { type ChaosAccount, type ChaosStack, type StackMember, startStack, throughPort } from '../stack.ts';
import { openStatementTrap, type StatementTrap } from '../statement-trap.ts';
import { auditTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../webhook-receiver.ts';

const KILLS_EACH = 10;
const CALLS_AT_ONCE = 4;
const PICTURES_AT_ONCE = 2;
const STRIKE_WITHIN_MS = 60_000;
const TTL_AND_MARGIN_MS = 70_000;
const REPEATED_WITHIN_MS = 90_000;
const ENDED_WITHIN_MS = 90_000;

/**
 * The process that is killed: an API process next to a surviving one, the worker that generates, or the worker that does everything else.
 */
type Victim = 'api' | 'generate' | 'finish';

/** Separate workers, so that tasks pass every point: one worker with all queues may finish what it has generated. */
const WORKERS = [['--queues=generate'], ['--queues=postprocess,webhooks,maintenance']];
/** Finally, the first worker finishes images where it generated them. */
const BOTH_QUEUES = ['--queues=generate,postprocess'];

/** What the kills work with. */
interface Field {
  readonly services: ChaosServices;
  readonly stack: ChaosStack;
  readonly traps: Readonly<Record<Victim, StatementTrap>>;
  readonly account: ChaosAccount;
  readonly log: OutcomeLog;
  readonly calls: KeyedCalls;
  readonly orders: KeyedOrders;
}

export const pointsOfDeath: ChaosScenario = {
  id: 'A2',
  fault: `kill -9 at ${DEATH_POINTS.length} points between the steps of calls, orders and tasks, ${KILLS_EACH} times each; clients retry with their Idempotency-Keys`,
  asked: 'every kill at its point; 0 lost, 0 duplicate, 0 wrong charges; no open hold within TTL + 10 s',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 10 });
    const receiver = await startWebhookReceiver();
    const [api, generate, finish] = await Promise.all([
      openStatementTrap(services.postgresPort),
      openStatementTrap(services.postgresPort),
      openStatementTrap(services.postgresPort),
    ]);
    const traps = { api, generate, finish };
    const stack = await startStack(services, {
      apis: 2,
      workers: WORKERS,
      settings: { WEBHOOK_PRIVATE_TARGETS: 'allow' },
      databaseUrl: (url, member) => {
        const victim = victimAt(member);
        return victim === undefined ? url : throughPort(traps[victim].port)(url);
      },
    });
    const account = await stack.openAccount('1000');
    const [calls, orders] = [new KeyedCalls(), new KeyedOrders(account, receiver.url)];
    const field: Field = { services, stack, traps, account, orders, log: new OutcomeLog(), calls };
    const missed = await Promise.all([
      strikeAll(field, ({ work }) => victimOf(work) === 'api'),
      strikeWorkers(field),
    ]);
    const open = await untilNoHolds(stack.database.ownerUrl, TTL_AND_MARGIN_MS);
    const finding = await audit(field, receiver);
    await stack.stop();
    await Promise.all([api.close(), generate.close(), finish.close(), receiver.close()]);
    const kills = DEATH_POINTS.length * KILLS_EACH - missed.flat().length;
    return {
      measured: `${kills} kills, each at its point; ${finding.measured}`,
      failures: [
        ...missed.flat(),
        ...(open > 0 ? [`${open} holds still open after ${TTL_AND_MARGIN_MS / 1_000} s`] : []),
        ...finding.failures,
      ],
    };
  },
};

function victimOf(work: DeathPoint['work']): Victim {
  switch (work) {
    case 'call':
    case 'order':
      return 'api';
    case 'generate':
    case 'in place':
      return 'generate';
    case 'finish':
      return 'finish';
  }
}

/** Returns undefined for a process that survives. */
function victimAt({ kind, place }: StackMember): Victim | undefined {
  if (kind === 'worker') {
    return place === 0 ? 'generate' : 'finish';
  }
  return place === 0 ? 'api' : undefined;
}

async function strikeWorkers(field: Field): Promise<string[]> {
  const apart = await strikeAll(field, ({ work }) => work === 'generate' || work === 'finish');
  await field.stack.replaceWorker(0, BOTH_QUEUES);
  return [...apart, ...(await strikeAll(field, ({ work }) => work === 'in place'))];
}

/** Kills the process `KILLS_EACH` times at every point, and starts it again. Returns the points that were not reached. */
async function strikeAll(field: Field, isWanted: (point: DeathPoint) => boolean): Promise<string[]> {
  const missed: string[] = [];
  for (const point of DEATH_POINTS.filter(isWanted)) {
    for (let kill = 0; kill < KILLS_EACH; kill += 1) {
      const told = field.log.calls.length;
      if (!(await strike(field, point))) {
        missed.push(`not reached: ${point.name} ${JSON.stringify(field.log.troublesFrom(told))}`);
      }
    }
  }
  return missed;
}

async function strike(field: Field, point: DeathPoint): Promise<boolean> {
  const { stack, traps, services } = field;
  const victim = victimOf(point.work);
  const place = victim === 'finish' ? 1 : 0;
  let isStruck = false;
  let sent = Promise.resolve();
  const struck = new Promise<void>((resolve) => {
    const kill = () => {
      if (!isStruck) {
        isStruck = true;
        (victim === 'api' ? stack.apis : stack.workers)[place]?.signal('SIGKILL');
        resolve();
      }
    };
    if (point.at === 'upstream') {
      services.upstream.script.gate = async () => kill();
    } else if (point.at !== 'first bytes') {
      traps[victim].arm(point.at, kill);
    }
    sent = send(field, point, kill);
  });
  await Promise.race([struck, pause(STRIKE_WITHIN_MS)]);
  traps[victim].disarm();
  if (point.at === 'upstream') {
    // kills of workers, which run concurrently with those of the API, do not use this gate
    services.upstream.script.gate = async () => undefined;
  }
  await (victim === 'api' ? stack.replaceApi(place) : stack.replaceWorker(place));
  await sent;
  return isStruck;
}

async function send(field: Field, { work, at }: DeathPoint, kill: () => void): Promise<void> {
  const { stack, orders, account, log, calls } = field;
  const [victim, survivor] = stack.urls as [string, string];
  if (work !== 'call') {
    await orders.place(work === 'order' ? victim : survivor, PICTURES_AT_ONCE);
    return;
  }
  const target = { urls: () => [victim], accounts: [account], log };
  await calls.place(
    at === 'first bytes' ? { ...target, onFirstBytes: kill } : target,
    CALLS_AT_ONCE,
    at === 'upstream' || at === 'first bytes',
  );
}

/** Lets the clients repeat their calls, and compares the books with everything they were told. */
async function audit(field: Field, receiver: WebhookReceiver): Promise<ChaosFinding> {
  const { stack, account, log, calls, orders } = field;
  const { ownerUrl } = stack.database;
  const survivor = stack.urls[1]!;
  await Promise.all([
    calls.repeat({ urls: () => [survivor], accounts: [account], log }, REPEATED_WITHIN_MS),
    orders.repeat(survivor, REPEATED_WITHIN_MS),
  ]);
  const tasks = await auditTasks(ownerUrl, { accepted: orders.accepted, refused: 0 }, ENDED_WITHIN_MS);
  const undelivered = await untilDelivered(ownerUrl, ENDED_WITHIN_MS);
  const books = await auditBooks(ownerUrl, TTL_AND_MARGIN_MS);
  const { told, wrong } = await auditCalls(ownerUrl, log.calls);
  const charges = await queryOwner<{ request_id: string; charge: string }>(
    ownerUrl,
    'SELECT request_id, charge FROM generations WHERE charge > 0',
  );
  const wrongKeys = calls.audit(
    new Map(charges.map(({ request_id: requestId, charge }) => [requestId, BigInt(charge)])),
  );
  const ended = tasks.succeeded + tasks.failed;
  return {
    measured: `${calls.count} calls, ${told} answered and booked correctly, ${calls.answeredLater} of them on retry, ${calls.replayed} from the store; ${orders.count} orders, ${tasks.succeeded} tasks charged once, ${tasks.failed} failed without charge, ${receiver.seen.size} webhooks arrived; ${wrong.length + tasks.wrong.length + wrongKeys.length} wrong`,
    failures: [
      ...wrongKeys,
      ...(calls.untold > 0 ? [`${calls.untold} calls never got a certain answer`] : []),
      ...(calls.replayed === 0 ? ['no answer came from the store'] : []),
      ...(orders.untold > 0 ? [`${orders.untold} orders never got an answer`] : []),
      ...(ended === orders.count ? [] : [`${orders.count} orders became ${ended} tasks`]),
      ...(undelivered > 0 ? [`${undelivered} webhooks were not delivered`] : []),
      ...(receiver.seen.size === ended ? [] : [`${receiver.seen.size} webhooks of ${ended} tasks arrived`]),
      ...wrong,
      ...tasks.wrong,
      ...books,
    ],
  };
}

/** Waits until all webhooks are delivered, for at most `milliseconds`. Returns the number still undelivered. */
async function untilDelivered(ownerUrl: string, milliseconds: number): Promise<number> {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const [row] = await queryOwner<{ left: number }>(
      ownerUrl,
      `SELECT count(*)::integer AS left FROM webhook_deliveries WHERE state <> 'delivered'`,
    );
    const left = row?.left ?? 0;
    if (left === 0 || Date.now() > deadline) {
      return left;
    }
    await pause(250);
  }
}

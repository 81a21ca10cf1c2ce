import { queueName } from '../../../queues/queue-name.ts';
import type { LastCheck } from '../../ledger/ledger-verifier.ts';
import type { Clock } from '../../lib/clock.ts';
import { inTimeOrUndefined } from '../../lib/deadline.ts';
import { formatUsd, nanoUsd } from '../../lib/money.ts';
import type { ReplicaCircuits } from '../../providers/circuit-exchange.ts';
import type { FleetReadModel, PaceRow, ProviderRow, SilentWorkerRow } from './fleet.read-model.ts';
import type { AlarmJson, LedgerCheckJson, PoolJson, ProviderJson } from './fleet.schema.ts';

/** State in the database: ages in seconds, amounts in nano-USD as decimal text. */
export interface PendingWork {
  readonly holds: readonly {
    readonly kind: 'call' | 'task';
    readonly holds: number;
    readonly amount: string;
    readonly oldest_seconds: number;
  }[];
  readonly tasks: readonly {
    readonly pool: string;
    readonly state: string;
    readonly tasks: number;
    readonly oldest_seconds: number;
  }[];
  readonly slots: readonly { readonly queue: string; readonly slots: number }[];
  readonly deliveries: { readonly deliveries: number; readonly overdue_seconds: number };
  readonly paymentEvents: { readonly events: number; readonly oldest_seconds: number };
  readonly unbookedReversals: { readonly amount: string };
}

/** The current state of a pool, without anything measured over time. */
type StandingPool = Omit<PoolJson, 'estimated_wait_seconds'>;

export interface FleetParts {
  readonly rows: Pick<FleetReadModel, 'silentWorkers' | 'providers' | 'paces'>;
  /** The latest ledger check of each kind. */
  readonly checks: () => Promise<LastCheck[]>;
  readonly standing: () => Promise<PendingWork>;
  /** Providers that each API process currently does not call. Rejects while that is unknown. */
  readonly circuits: () => Promise<readonly ReplicaCircuits[]>;
  /** Engine pools of the catalog. */
  readonly pools: () => readonly string[];
  readonly clock: Clock;
}

/** Thresholds of the alarms, in seconds, as in the alerting rules. */
const LATE = { hold: 900, payments: 900, webhooks: 600, tasks: 1_800, fullCheck: 129_600 };
/** Maximum time to wait for Redis, in ms. */
const CIRCUITS_MS = 1_000;
const NOTHING = { object: null, count: null, seconds: null, amount: null };

/** Reports the state of the installation: pools, workers, providers, ledger checks, and what of it needs attention. */
export class FleetService {
  readonly #parts: FleetParts;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  async pools(): Promise<PoolJson[]> {
    const { standing, rows, pools } = this.#parts;
    const [work, paces] = await Promise.all([standing(), rows.paces()]);
    return poolsOf(work, pools()).map((pool) => ({
      ...pool,
      estimated_wait_seconds: estimatedWait(
        pool,
        paces.find((row) => queueName('generate', row.pool) === pool.queue),
      ),
    }));
  }

  async providers(): Promise<ProviderJson[]> {
    const [rows, replicas] = await Promise.all([
      this.#parts.rows.providers(this.#parts.clock.now()),
      // without circuits, call statistics are still worth showing
      inTimeOrUndefined(this.#parts.circuits(), CIRCUITS_MS),
    ]);
    return rows.map((row) => presentProvider(row, replicas));
  }

  async checks(): Promise<LedgerCheckJson[]> {
    return (await this.#parts.checks()).map(presentCheck);
  }

  /** Lists what needs attention now, most severe first. */
  async alarms(): Promise<AlarmJson[]> {
    const { rows, standing, pools } = this.#parts;
    const [work, workers, checks] = await Promise.all([
      standing(),
      rows.silentWorkers(),
      this.#parts.checks(),
    ]);
    return [
      ...alarmsOfBooks(checks),
      ...alarmsOfPools(poolsOf(work, pools())),
      ...alarmsOfWorkers(workers, this.#parts.clock.now()),
      ...alarmsOfMoney(work),
    ];
  }
}

/** Estimates the seconds until all waiting tasks have started; null if it cannot be estimated. */
function estimatedWait({ waiting, slots }: StandingPool, pace: PaceRow | undefined): number | null {
  if (slots === 0 || pace === undefined || pace.ended === 0) {
    return null;
  }
  return whole((waiting * pace.busy_seconds) / pace.ended);
}

function poolsOf({ tasks, slots }: PendingWork, pools: readonly string[]): StandingPool[] {
  const served = slots.map(({ queue }) => queue).filter((queue) => queue.startsWith('generate-'));
  const ordered = tasks.map(({ pool }) => queueName('generate', pool));
  const queues = new Set([...pools.map((pool) => queueName('generate', pool)), ...ordered, ...served]);
  const inState = (state: string, queue?: string) =>
    tasks.filter(
      (row) => row.state === state && (queue === undefined || queueName('generate', row.pool) === queue),
    );
  const poolOf = (queue: string, waiting: PendingWork['tasks'], running: PendingWork['tasks']) => ({
    queue,
    waiting: countOf(waiting),
    running: countOf(running),
    oldest_wait_seconds: whole(Math.max(0, ...waiting.map((row) => row.oldest_seconds))),
    slots: slots.find((row) => row.queue === queue)?.slots ?? 0,
  });
  return [
    ...[...queues].map((queue) => poolOf(queue, inState('queued', queue), inState('generating', queue))),
    poolOf(queueName('postprocess'), inState('generated'), inState('processing')),
  ];
}

function alarmsOfBooks(checks: readonly LastCheck[]): AlarmJson[] {
  const broken = checks
    .filter(({ violations }) => violations > 0)
    .map(({ kind, violations }) => alarm('books_violated', { object: kind, count: violations }));
  const ages = checks.filter(({ kind }) => kind !== 'incremental').map(({ age_seconds }) => age_seconds);
  const age = Math.min(...ages);
  const isLate = ages.length > 0 && age > LATE.fullCheck;
  return isLate ? [...broken, alarm('books_unchecked', { seconds: whole(age) })] : broken;
}

function alarmsOfPools(pools: readonly StandingPool[]): AlarmJson[] {
  return pools.flatMap(({ queue, waiting, slots, oldest_wait_seconds: wait }) => {
    const facts = { object: queue, count: waiting, seconds: wait };
    if (waiting > 0 && slots === 0) {
      return [alarm('pool_without_workers', facts)];
    }
    return wait > LATE.tasks ? [alarm('tasks_wait', facts)] : [];
  });
}

function alarmsOfWorkers(workers: readonly SilentWorkerRow[], nowMs: number): AlarmJson[] {
  return workers.map(({ worker, tasks, seen_at: seenAt }) =>
    alarm('worker_silent', {
      object: worker,
      count: tasks,
      seconds: whole((nowMs - seenAt.getTime()) / 1_000),
    }),
  );
}

function alarmsOfMoney({ holds, deliveries, paymentEvents, unbookedReversals }: PendingWork): AlarmJson[] {
  const alarms: AlarmJson[] = [];
  for (const { kind, holds: count, oldest_seconds: oldest, amount } of holds) {
    if (kind === 'call' && oldest > LATE.hold) {
      alarms.push(alarm('old_hold', { count, seconds: whole(oldest), amount: usd(amount) }));
    }
  }
  if (deliveries.overdue_seconds > LATE.webhooks) {
    const { deliveries: count, overdue_seconds: overdue } = deliveries;
    alarms.push(alarm('webhooks_late', { count, seconds: whole(overdue) }));
  }
  if (paymentEvents.oldest_seconds > LATE.payments) {
    const { events: count, oldest_seconds: oldest } = paymentEvents;
    alarms.push(alarm('payments_not_booked', { count, seconds: whole(oldest) }));
  }
  if (nanoUsd(unbookedReversals.amount) > 0n) {
    alarms.push(alarm('reversals_not_booked', { amount: usd(unbookedReversals.amount) }));
  }
  return alarms;
}

function alarm(code: AlarmJson['code'], facts: Partial<Omit<AlarmJson, 'code'>>): AlarmJson {
  return { code, ...NOTHING, ...facts };
}

function circuitOf(
  { provider, model }: ProviderRow,
  replicas: readonly ReplicaCircuits[] | undefined,
): ProviderJson['circuit'] {
  const inState = (state: 'open' | 'cooling') =>
    (replicas ?? [])
      .filter(({ resting }) =>
        resting.some(
          (route) => route.provider === provider && route.model === model && route.state === state,
        ),
      )
      .map(({ replica }) => replica);
  return replicas
    ? { replicas: replicas.length, resting: inState('open'), cooling: inState('cooling') }
    : null;
}

function presentProvider(row: ProviderRow, replicas: readonly ReplicaCircuits[] | undefined): ProviderJson {
  return {
    provider: row.provider,
    model: row.model,
    attempts: row.attempts,
    failed: row.failed,
    attempts_5m: row.attempts_just_now,
    failed_5m: row.failed_just_now,
    latency_ms: { p50: row.latency_p50, p95: row.latency_p95 },
    failures: row.failures,
    circuit: circuitOf(row, replicas),
    last_failed_at: row.last_failed_at?.toISOString() ?? null,
    last_said: row.last_said,
  };
}

function presentCheck(row: LastCheck): LedgerCheckJson {
  return {
    kind: row.kind,
    at: row.at.toISOString(),
    age_seconds: whole(row.age_seconds),
    accounts: Number(row.accounts),
    violations: row.violations,
    duration_ms: row.duration_ms,
  };
}

function countOf(rows: PendingWork['tasks']): number {
  return rows.reduce((sum, { tasks }) => sum + tasks, 0);
}

function whole(seconds: number): number {
  return Math.max(0, Math.round(seconds));
}

function usd(amount: string): string {
  return formatUsd(nanoUsd(amount));
}

import { z } from 'zod';
import { usdString } from '../../http/input/wire-shapes.ts';

const count = z.int().min(0);
const seconds = z.int().min(0);
const time = z.iso.datetime();

export const poolJson = z
  .object({
    queue: z.string().meta({ description: 'As the queue and its workers are named' }),
    waiting: count.meta({ description: 'Tasks that wait' }),
    running: count.meta({ description: 'Tasks that run' }),
    oldest_wait_seconds: seconds.meta({ description: '0 while nothing waits' }),
    slots: count.meta({ description: 'Tasks that live workers can run at once; 0: nobody serves it' }),
    estimated_wait_seconds: seconds.nullable().meta({
      description:
        'Until all that waits now has begun, at the pace at which tasks ended in the last 15 minutes while any ran; null: unknown, since none ended or nobody serves it, and for postprocessing',
    }),
  })
  .meta({ id: 'Pool' });

export const providerJson = z
  .object({
    provider: z.string().meta({ description: 'Provider or engine' }),
    model: z.string().meta({ description: 'What it calls the model' }),
    attempts: count.meta({ description: 'In the last hour, or the newest 20,000 calls of it' }),
    failed: count.meta({ description: 'Of them without an answer' }),
    attempts_5m: count.meta({ description: 'In the last five minutes' }),
    failed_5m: count.meta({ description: 'Of those without an answer' }),
    latency_ms: z
      .object({
        p50: count.nullable().meta({ description: 'Median; null: none succeeded' }),
        p95: count.nullable().meta({ description: '95th percentile; null: none succeeded' }),
      })
      .meta({
        description: 'Of the attempts that succeeded',
      }),
    failures: z.record(z.string(), count).meta({ description: 'By reason' }),
    circuit: z
      .object({
        replicas: count.meta({ description: 'Processes of the API that are alive' }),
        resting: z
          .array(z.string())
          .meta({ description: 'Of them, those that do not call it now because it fails' }),
        cooling: z
          .array(z.string())
          .meta({ description: 'Of them, those that do not call it now because it asked for a pause' }),
      })
      .nullable()
      .meta({ description: 'Circuit of each process for all accounts; null: Redis cannot be asked' }),
    last_failed_at: time.nullable().meta({ description: 'Null: none failed' }),
    last_said: z
      .string()
      .nullable()
      .meta({ description: 'What it said about its last failure, without secrets' }),
  })
  .meta({ id: 'ProviderHealth' });

export const ledgerCheckJson = z
  .object({
    kind: z.enum(['full', 'nightly', 'incremental']).meta({
      description:
        'full: all of history; nightly: what is new in a day and a part of the closed months; incremental: what is new in a minute',
    }),
    at: time.meta({ description: 'When it ended' }),
    age_seconds: seconds.meta({ description: 'How long ago that is' }),
    accounts: count.meta({ description: 'Accounts that it covered' }),
    violations: count.meta({ description: 'Broken invariants; 0: the books are right' }),
    duration_ms: count.meta({ description: 'How long it took' }),
  })
  .meta({ id: 'LedgerCheck' });

const ALARM_CODES = [
  'books_violated',
  'books_unchecked',
  'pool_without_workers',
  'tasks_wait',
  'worker_silent',
  'old_hold',
  'webhooks_late',
  'payments_not_booked',
  'reversals_not_booked',
] as const;

export const alarmJson = z
  .object({
    code: z.enum(ALARM_CODES).meta({ description: 'What it is' }),
    object: z.string().nullable().meta({ description: 'Queue, worker or kind of check that it is about' }),
    count: count.nullable().meta({ description: 'How many are affected' }),
    seconds: seconds.nullable().meta({ description: 'For how long' }),
    amount: usdString.nullable().meta({ description: 'What is at stake, USD' }),
  })
  .meta({ id: 'Alarm' });

export type PoolJson = z.output<typeof poolJson>;
export type ProviderJson = z.output<typeof providerJson>;
export type LedgerCheckJson = z.output<typeof ledgerCheckJson>;
export type AlarmJson = z.output<typeof alarmJson>;

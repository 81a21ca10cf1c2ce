import { z } from 'zod';
import { usdString } from '../../http/input/wire-shapes.ts';

const count = z.int().min(0);
const seconds = z.int().min(0);
const time = z.iso.datetime();

export const poolJson = z
  .object({
    queue: z.string().meta({ description: 'Name of the queue, as its workers use it' }),
    waiting: count.meta({ description: 'Waiting tasks' }),
    running: count.meta({ description: 'Running tasks' }),
    oldest_wait_seconds: seconds.meta({
      description: 'How long the oldest task has waited; 0 while none waits',
    }),
    slots: count.meta({ description: 'Tasks that live workers can run at once; 0: no worker serves it' }),
    estimated_wait_seconds: seconds.nullable().meta({
      description:
        'Estimated time until all waiting tasks have started, at the pace of the last 15 minutes, not counting idle time; null if unknown, because no task ended or no worker serves the pool, and for postprocessing',
    }),
  })
  .meta({ id: 'Pool' });

export const providerJson = z
  .object({
    provider: z.string().meta({ description: 'Provider or engine' }),
    model: z.string().meta({ description: 'What it calls the model' }),
    attempts: count.meta({ description: 'Attempts in the last hour, or in its newest 20,000 calls' }),
    failed: count.meta({ description: 'How many of them got no answer' }),
    attempts_5m: count.meta({ description: 'Attempts in the last five minutes' }),
    failed_5m: count.meta({ description: 'How many of those got no answer' }),
    latency_ms: z
      .object({
        p50: count.nullable().meta({ description: 'Median; null if none succeeded' }),
        p95: count.nullable().meta({ description: '95th percentile; null if none succeeded' }),
      })
      .meta({
        description: 'Latency of successful attempts',
      }),
    failures: z.record(z.string(), count).meta({ description: 'Failed attempts by reason' }),
    circuit: z
      .object({
        replicas: count.meta({ description: 'Live API processes' }),
        resting: z
          .array(z.string())
          .meta({ description: 'How many of them currently do not call it because it fails' }),
        cooling: z
          .array(z.string())
          .meta({ description: 'How many of them currently do not call it because it asked for a pause' }),
      })
      .nullable()
      .meta({
        description:
          'Circuit breakers of the API processes, over all accounts; null while Redis is unreachable',
      }),
    last_failed_at: time.nullable().meta({ description: 'When an attempt last failed; null if none failed' }),
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
        'full: the entire history; nightly: entries of the last day and some of the closed months; incremental: entries of the last minute',
    }),
    at: time.meta({ description: 'When it ended' }),
    age_seconds: seconds.meta({ description: 'How long ago it ended' }),
    accounts: count.meta({ description: 'Accounts that it covered' }),
    violations: count.meta({ description: 'Number of violated invariants; 0: the books are correct' }),
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
    code: z.enum(ALARM_CODES).meta({ description: 'Kind of alarm' }),
    object: z.string().nullable().meta({ description: 'The affected queue, worker or kind of check' }),
    count: count.nullable().meta({ description: 'How many are affected' }),
    seconds: seconds.nullable().meta({ description: 'How long it has lasted' }),
    amount: usdString.nullable().meta({ description: 'The affected amount, USD' }),
  })
  .meta({ id: 'Alarm' });

export type PoolJson = z.output<typeof poolJson>;
export type ProviderJson = z.output<typeof providerJson>;
export type LedgerCheckJson = z.output<typeof ledgerCheckJson>;
export type AlarmJson = z.output<typeof alarmJson>;

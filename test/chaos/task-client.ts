import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { queuePrefix } from '../../queues/queue-name.ts';
import { parsePublicId } from '../../src/lib/ids.ts';
import { queryOwner } from './audit.ts';
import { FAILING_PROMPT } from './simulated-engine.ts';
import { type ChaosAccount, IMAGE_MODEL, IMAGE_PRICE } from './stack.ts';

/** The outcomes of a client's orders. */
export interface ToldTasks {
  /** Ids (UUID) of the tasks that were accepted. */
  readonly accepted: string[];
  /** Number of orders that were not accepted. */
  refused: number;
}

export interface TaskLoadOptions {
  readonly urls: () => readonly string[];
  readonly accounts: readonly ChaosAccount[];
  readonly perSecond: number;
  /** Total number of orders. */
  readonly count: number;
  readonly told: ToldTasks;
  /** Returns the prompt of an order by its number; every tenth fails by default. */
  readonly prompt?: (number: number) => string;
  /** Called for every accepted task. */
  readonly onAccepted?: (taskId: string, number: number) => void;
}

/** Orders images at a fixed rate and records which orders were accepted. Never repeats an order. */
export async function orderTasks(options: TaskLoadOptions): Promise<void> {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  for (let number = 0; number < options.count; number += 1) {
    const wait = startedAt + (number * 1_000) / options.perSecond - performance.now();
    if (wait > 0) {
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    running.push(order(options, number));
  }
  await Promise.all(running);
}

async function order(
  { urls, accounts, told, prompt: promptOf, onAccepted }: TaskLoadOptions,
  number: number,
): Promise<void> {
  const addresses = urls();
  const prompt = promptOf?.(number) ?? (number % 10 === 0 ? FAILING_PROMPT : 'a lighthouse');
  try {
    const response = await fetch(`${addresses[number % addresses.length]}/v3/async/${IMAGE_MODEL}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${accounts[number % accounts.length]!.key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ prompt, size: '256*256' }),
      signal: AbortSignal.timeout(30_000),
    });
    const { task_id: id } = (await response.json()) as { task_id?: string };
    const uuid = id === undefined ? undefined : parsePublicId('generation', id);
    if (response.status === 200 && uuid !== undefined) {
      told.accepted.push(uuid);
      onAccepted?.(uuid, number);
      return;
    }
  } catch {
    // counted below: the order may have been accepted, but the client got no answer
  }
  told.refused += 1;
}

export interface TaskAudit {
  readonly succeeded: number;
  readonly failed: number;
  /** Time until all accepted tasks had ended, or the time limit, in ms. */
  readonly endedAfterMs: number;
  readonly wrong: readonly string[];
}

interface AuditedTask {
  readonly id: string;
  readonly state: string;
  readonly charges: number;
  /** Charged amount in nano-USD. */
  readonly amount: string;
  readonly results: number;
}

/** Waits until every accepted task has ended, then compares charges and results with what the client was told. */
export async function auditTasks(
  ownerUrl: string,
  told: ToldTasks,
  milliseconds: number,
): Promise<TaskAudit> {
  const startedAt = Date.now();
  const wrong: string[] = [];
  for (;;) {
    const [row] = await queryOwner<{ open: number }>(
      ownerUrl,
      'SELECT count(*)::integer AS open FROM tasks WHERE completed_at IS NULL',
    );
    const open = row?.open ?? 0;
    if (open === 0) {
      break;
    }
    if (Date.now() - startedAt > milliseconds) {
      wrong.push(`${open} tasks not ended after ${milliseconds / 1_000} s`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const endedAfterMs = Date.now() - startedAt;
  const rows = await queryOwner<AuditedTask>(
    ownerUrl,
    `SELECT t.id, t.state, count(e.reference)::integer AS charges, coalesce(-sum(e.amount), 0) AS amount,
            (SELECT count(*)::integer FROM task_outputs o WHERE o.task_id = t.id AND o.variant = 'original') AS results
       FROM tasks t LEFT JOIN ledger_entries e ON e.reference = t.id AND e.type = 'usage_charge' GROUP BY t.id, t.state`,
  );
  const known = new Set(rows.map(({ id }) => id));
  wrong.push(...told.accepted.filter((id) => !known.has(id)).map((id) => `${id} was accepted and is lost`));
  for (const { id, state, charges, amount, results } of rows) {
    const [times, price] = state === 'succeeded' ? [1, IMAGE_PRICE] : [0, 0n];
    if (charges !== times || BigInt(amount) !== price || results !== times) {
      wrong.push(`${id} ${state}: ${results} results, ${charges} charges of ${amount}`);
    }
  }
  const of = (state: string) => rows.filter((row) => row.state === state).length;
  return { succeeded: of('succeeded'), failed: of('failed'), endedAfterMs, wrong };
}

/** Adds jobs to the queues again, as a broken producer would. */
export interface JobDoubler {
  double(taskId: string): void;
  readonly doubled: () => number;
  close(): Promise<void>;
}

export function createJobDoubler(redisUrl: string): JobDoubler {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  connection.on('error', () => undefined);
  const open = (name: string) =>
    new Queue(name, { connection, prefix: queuePrefix('tollgate', name), skipWaitingForReady: true });
  const queues = { 'tasks.generate': open('generate-pool'), 'tasks.postprocess': open('postprocess') };
  let doubled = 0;
  const add = (name: keyof typeof queues, taskId: string, delay: number) => {
    const options = { jobId: `${taskId}-again-${delay}`, delay };
    queues[name].add(name, { taskId, dispatch: 1 }, options).then(
      () => {
        doubled += 1;
      },
      () => undefined,
    );
  };
  for (const queue of Object.values(queues)) {
    queue.on('error', () => undefined);
  }
  return {
    double: (taskId) => {
      add('tasks.generate', taskId, 0);
      // during the first run, and once more for its files
      add('tasks.generate', taskId, 200);
      add('tasks.postprocess', taskId, 400);
    },
    doubled: () => doubled,
    close: async () => {
      await Promise.allSettled(Object.values(queues).map((queue) => queue.close()));
      connection.disconnect();
    },
  };
}

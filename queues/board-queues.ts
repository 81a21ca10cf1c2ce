import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Producer } from './producer.ts';

export interface BoardQueuesOptions {
  readonly readOnly: boolean;
  /** Address of a task's page, by its stored id. */
  readonly taskUrl: (taskId: string) => string;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  postprocess: 'Turns raw engine output into files and settles the task',
  webhooks: "Attempts to deliver webhooks to customers' endpoints",
  maintenance: 'Chores: sweeps, month close, proofs of the books',
};
const TASK_ID_PATTERN = /^[0-9a-f-]{36}$/;

/** Returns the named queues as the board shows them. Throws QueueUnavailableError when Redis is away. */
export function boardQueues(
  producer: Producer,
  names: readonly string[],
  options: BoardQueuesOptions,
): BullMQAdapter[] {
  return names.map((name) => {
    const ordersTasks = name === 'postprocess' || name.startsWith('generate-');
    return new BullMQAdapter(producer.queue(name), {
      readOnlyMode: options.readOnly,
      description: DESCRIPTIONS[name] ?? 'Runs tasks on an engine',
      ...(ordersTasks && {
        externalJobUrl: (job) => {
          const taskId: unknown = job.data?.taskId;
          const isTask = typeof taskId === 'string' && TASK_ID_PATTERN.test(taskId);
          return { displayText: 'Task', href: isTask ? options.taskUrl(taskId) : '' };
        },
      }),
    });
  });
}

import type { Command } from 'commander';
import type { QueueJson } from '../../queues.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import type { Column } from '../text-table.ts';

const COLUMNS: readonly Column<QueueJson>[] = [
  { title: 'queue', value: (row) => row.name },
  { title: 'state', value: stateOf },
  { title: 'backlog', value: (row) => row.backlog, align: 'right' },
  {
    title: 'oldest',
    value: (row) => (row.oldest_seconds === null ? null : `${row.oldest_seconds} s`),
    align: 'right',
  },
  { title: 'workers', value: (row) => row.workers, align: 'right' },
  { title: 'slots', value: (row) => row.slots, align: 'right' },
  { title: 'waiting', value: (row) => row.jobs.waiting, align: 'right' },
  { title: 'active', value: (row) => row.jobs.active, align: 'right' },
  { title: 'delayed', value: (row) => row.jobs.delayed, align: 'right' },
  { title: 'failed', value: (row) => row.jobs.failed, align: 'right' },
  { title: 'completed', value: (row) => row.jobs.completed, align: 'right' },
];

/** `tollgate queues …` */
export function addQueueCommands(program: Command, surroundings: CliSurroundings): void {
  const queues = program.command('queues').description('the queues between the database and the workers');
  queues
    .command('list')
    .description('list the queues with their backlog in the database, their workers, and their jobs in Redis')
    .action(async (_options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(await context.client.get<QueueJson[]>('/admin/v1/queues'), COLUMNS);
    });
  for (const verb of ['pause', 'resume'] as const) {
    queues
      .command(`${verb} <queue>`)
      .description(
        verb === 'pause'
          ? 'stop workers from taking jobs of a queue; running jobs finish'
          : 'let workers take jobs of a queue again',
      )
      .action(async (name: string, _options: object, command: Command) => {
        const context = await CliContext.of(command, surroundings);
        const path = `/admin/v1/queues/${encodeURIComponent(name)}/${verb}`;
        const { data } = await context.client.send<{ data: QueueJson }>('POST', path);
        context.showResult(data, `Queue ${data.name} is ${stateOf(data)}.`);
      });
  }
}

function stateOf(queue: QueueJson): string {
  if (queue.paused) {
    return 'paused';
  }
  if (queue.workers === 0) {
    return 'no worker';
  }
  return queue.resting_ms > 0 ? `resting ${Math.ceil(queue.resting_ms / 1_000)} s` : 'running';
}

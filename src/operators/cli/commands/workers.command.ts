import type { Command } from 'commander';
import type { WorkerJson } from '../../workers.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { type Column, textTime } from '../text-table.ts';

const COLUMNS: readonly Column<WorkerJson>[] = [
  { title: 'host', value: (row) => row.host },
  { title: 'worker', value: (row) => row.worker },
  { title: 'state', value: stateOf },
  { title: 'running', value: (row) => row.running, align: 'right' },
  { title: 'away', value: awayOf },
  { title: 'queues', value: (row) => row.queues.join(',') },
  { title: 'since', value: (row) => textTime(row.started_at) },
];

/** `tollgate workers …` */
export function addWorkerCommands(program: Command, surroundings: CliSurroundings): void {
  const workers = program.command('workers').description('the processes that run tasks');
  workers
    .command('list')
    .description('list live workers and drained hosts')
    .action(async (_options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(await context.client.get<WorkerJson[]>('/admin/v1/workers'), COLUMNS);
    });
  for (const verb of ['drain', 'resume'] as const) {
    workers
      .command(`${verb} <host>`)
      .description(
        verb === 'drain'
          ? 'let the workers of a host finish running tasks and take no new ones, even after a restart'
          : 'let the workers of a host take work again',
      )
      .action(async (host: string, _options: object, command: Command) => {
        const context = await CliContext.of(command, surroundings);
        const path = `/admin/v1/workers/${encodeURIComponent(host)}/${verb}`;
        const { data } = await context.client.send<{ data: WorkerJson[] }>('POST', path);
        const running = data.reduce((sum, row) => sum + row.running, 0);
        const drained = `Host ${host} stops taking work within five seconds; ${running} tasks are running there.`;
        context.showResult(data, verb === 'drain' ? drained : `Host ${host} takes work again.`);
      });
  }
}

function stateOf(row: WorkerJson): string {
  if (row.worker === null) {
    return 'drained, no worker';
  }
  if (row.draining === 'notice') {
    return 'stopping soon';
  }
  const isTold = row.draining === 'operator';
  return row.drained_at === null ? 'serves' : isTold ? 'drained' : 'draining';
}

function awayOf({ away, misconfigured }: WorkerJson): string {
  return away.map((pool) => (misconfigured.includes(pool) ? `${pool} (misconfigured)` : pool)).join(',');
}

import type { Command } from 'commander';
import type { OperatorTaskDetailsJson, OperatorTaskJson } from '../../operator-tasks.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { type Column, textTable, textTime } from '../text-table.ts';

interface RetriedTask {
  readonly id: string;
  readonly retry_of: string;
  readonly created: boolean;
}

type Retry = { readonly task: string; readonly result: RetriedTask | null; readonly refused: string | null };

const COLUMNS: readonly Column<OperatorTaskJson>[] = [
  { title: 'task', value: (row) => row.id },
  { title: 'state', value: (row) => row.state },
  { title: 'model', value: (row) => row.model },
  { title: 'pool', value: (row) => row.pool },
  { title: 'attempts', value: (row) => row.generation_runs, align: 'right' },
  { title: 'price', value: (row) => row.price, align: 'right' },
  { title: 'charged', value: (row) => row.charged, align: 'right' },
  { title: 'error', value: (row) => row.error?.code },
  { title: 'account', value: (row) => row.account_id },
  { title: 'submitted', value: (row) => textTime(row.created_at) },
];

/** `tollgate tasks …` */
export function addTaskCommands(program: Command, surroundings: CliSurroundings): void {
  const tasks = program.command('tasks').description('image and video tasks of all accounts');
  tasks
    .command('list')
    .description('list tasks, newest first')
    .option('-s, --state <state>', 'queued, generating, generated, processing, succeeded, failed or canceled')
    .option('-a, --account <account>', 'only tasks of this account')
    .option('-n, --limit <rows>', 'number of rows, or "all"')
    .action(async (options: { state?: string; account?: string; limit?: string }, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const query = { state: options.state, account_id: options.account };
      await context.showList('/admin/v1/tasks', query, options.limit, COLUMNS);
    });
  tasks
    .command('show <task>')
    .description('show a task with its cost, attempts, engine and history')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const task = await context.client.get<OperatorTaskDetailsJson>(taskPath(id));
      context.showRecord(task, entriesOf(task));
    });
  tasks
    .command('retry <tasks...>')
    .description('retry failed tasks, each as a new task; a task can be retried once')
    .action(async (ids: string[], _options: object, command: Command) => {
      await retryAll(await CliContext.of(command, surroundings), ids);
    });
}

async function retryAll(context: CliContext, ids: readonly string[]): Promise<void> {
  const retries = await context.progress.bar('tasks', ids, (id) => retry(context, id));
  context.showRows(retries, [
    { title: 'task', value: (row) => row.task },
    { title: 'retried as', value: (row) => row.result?.id },
    {
      title: 'outcome',
      value: (row) => row.refused ?? (row.result?.created ? 'retried' : 'already retried'),
    },
  ]);
  if (retries.some(({ refused }) => refused !== null)) {
    context.setExitCode(EXIT.refused);
  }
}

async function retry(context: CliContext, task: string): Promise<Retry> {
  try {
    const { data } = await context.client.send<{ data: RetriedTask }>('POST', `${taskPath(task)}/retry`);
    return { task, result: data, refused: null };
  } catch (error) {
    if (!(error instanceof CliError)) {
      throw error;
    }
    return { task, result: null, refused: error.message };
  }
}

function taskPath(id: string): string {
  return `/admin/v1/tasks/${encodeURIComponent(id)}`;
}

function entriesOf(task: OperatorTaskDetailsJson): readonly (readonly [string, unknown])[] {
  const history = textTable(
    [
      { title: 'time', value: (row) => textTime(row.at) },
      { title: 'state', value: (row) => row.state },
      { title: 'attempt', value: (row) => row.attempt, align: 'right' },
      { title: 'reason', value: (row) => row.detail },
      { title: 'billed', value: (row) => row.cost, align: 'right' },
      { title: 'upstream message', value: (row) => row.said },
    ],
    task.history,
  );
  return [
    ['Task', task.id],
    ['State', `${task.state}, ${task.progress_percent} %`],
    ['Error', task.error && `${task.error.code}: ${task.error.message}`],
    ['Engine message', task.runs.at(-1)?.said],
    ['Account', task.account_id],
    ['Key', task.api_key_hash],
    ['Request', task.request_id],
    ['Model', `${task.model} (${task.kind}) on ${task.pool}`],
    ['Price', `${task.price} USD, held ${task.held}, charged ${task.charged}`],
    ['Engine cost', task.provider_cost && `${task.provider_cost} USD`],
    [
      'Attempts',
      `${task.generation_runs}, failed ${task.failures}, interrupted ${task.interruptions}; claimed ${task.attempts} times, dispatched ${task.dispatches} times`,
    ],
    ['Engine', task.engine && `${task.engine}, reference ${task.engine_reference}`],
    ['Worker', task.worker],
    ['Waited', task.queue_wait_ms === null ? null : `${task.queue_wait_ms} ms`],
    ['Ran', task.run_ms === null ? null : `${task.run_ms} ms`],
    ['Submitted', textTime(task.created_at)],
    ['Ended', textTime(task.completed_at)],
    ['Retry of', task.retry_of],
    ['Retried as', task.retried_as],
    ...history.split('\n').map((line, index) => [index === 0 ? 'History' : '', line] as const),
  ];
}

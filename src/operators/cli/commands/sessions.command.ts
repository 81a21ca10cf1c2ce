import type { Command } from 'commander';
import type { OperatorBrowserJson } from '../../board/claimed-sessions.routes.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { type Column, textTime } from '../text-table.ts';

const PATH = '/admin/v1/sessions';
const COLUMNS: readonly Column<OperatorBrowserJson>[] = [
  { title: 'id', value: (row) => row.id },
  { title: 'operator', value: (row) => row.operator },
  { title: 'since', value: (row) => textTime(row.created_at) },
  { title: 'until', value: (row) => textTime(row.ends_at) },
  { title: 'address', value: (row) => row.address },
  { title: 'browser', value: (row) => row.user_agent },
];

/** `tollgate sessions …` */
export function addSessionCommands(program: Command, surroundings: CliSurroundings): void {
  const sessions = program
    .command('sessions')
    .description('browser sessions of operators who signed in with the OpenID provider');
  sessions
    .command('list')
    .description('list sessions, newest first')
    .action(async (_options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      context.showRows(await context.client.get<OperatorBrowserJson[]>(PATH), COLUMNS);
    });
  sessions
    .command('end <id>')
    .description('end a session; takes effect within a second')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const path = `${PATH}/${encodeURIComponent(id)}`;
      const { data } = await context.client.send<{ data: { ended: number } }>('DELETE', path);
      context.showResult(data, `Session ${id} has ended.`);
    });
}

import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isDatabaseUrl } from '../../../config/database-url.ts';
import { type CallArchive, CallArchives } from '../../../ledger/call-archives.ts';
import type { AuditedAct } from '../../../ledger/ledger.types.ts';
import type { PackedTable } from '../../../ledger/packed-months.ts';
import type { CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { secretSetting } from '../cli-settings.ts';
import { type Column, textTable, textTime } from '../text-table.ts';

const COLUMNS: readonly Column<CallArchive>[] = [
  { title: 'month', value: (row) => monthOf(row) },
  { title: 'calls', value: (row) => row.calls, align: 'right' },
  { title: 'bytes', value: (row) => row.bytes, align: 'right' },
  { title: 'sha256', value: (row) => row.sha256 },
  { title: 'exported', value: (row) => textTime(row.exported_at.toISOString()) },
  { title: 'dropped', value: (row) => textTime(row.dropped_at?.toISOString() ?? null) },
];

const PACKED_COLUMNS: readonly Column<PackedTable>[] = [
  { title: 'table', value: (row) => row.table },
  { title: 'bytes before', value: (row) => String(row.bytesBefore), align: 'right' },
  { title: 'bytes', value: (row) => String(row.bytesAfter), align: 'right' },
];

/** `tollgate archive …`: connects to the database directly, as the owner of the schema. */
export function addArchiveCommands(program: Command, surroundings: CliSurroundings): void {
  const archive = program
    .command('archive')
    .description(
      'archive the calls of old months in files; needs DATABASE_OWNER_URL (or DATABASE_URL) with the owner of the schema',
    );
  const show = async (command: Command, work: (archives: CallArchives) => Promise<CallArchive[]>) => {
    const rows = await CallArchives.as(ownerUrl(surroundings), work);
    const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
    const table = rows.length === 0 ? 'Nothing has been exported yet.' : textTable(COLUMNS, rows);
    surroundings.stdout.write(`${json ? JSON.stringify(rows.map(shownAsJson), null, 2) : table}\n`);
  };
  archive
    .command('list')
    .description('list exported months, newest first')
    .action((_options: object, command: Command) => show(command, (archives) => archives.list()));
  archive
    .command('export <month>')
    .description(
      'write the calls of a closed month, e.g. 2028-05, to calls-2028-05.csv.gz; they stay in the database',
    )
    .requiredOption('-t, --to <folder>', 'target folder, preferably on another machine')
    .action((month: string, { to }: { to: string }, command: Command) =>
      show(command, async (archives) => [await archives.export(monthIn(month), resolve(to))]),
    );
  archive
    .command('drop <month>')
    .description(
      'drop the exported calls of a month from the database, after checking that their file is unchanged',
    )
    .requiredOption('-f, --from <folder>', 'folder of the file')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (month: string, { from, yes }: { from: string; yes?: boolean }, command: Command) => {
      await confirm(surroundings, yes, `Drop the calls of ${month} from the database?`);
      const act = actOf('archive.drop', month);
      await show(command, async (archives) => [await archives.drop(monthIn(month), resolve(from), act)]);
    });
  archive
    .command('restore <month>')
    .description(
      'load the calls of a month back into the database, e.g. for an audit; `ledger verify` checks them again',
    )
    .requiredOption('-f, --from <folder>', 'folder of the file')
    .action((month: string, { from }: { from: string }, command: Command) =>
      show(command, async (archives) => [
        await archives.restore(monthIn(month), resolve(from), actOf('archive.restore', month)),
      ]),
    );
  addPackCommand(archive, surroundings);
}

function addPackCommand(archive: Command, surroundings: CliSurroundings): void {
  archive
    .command('pack [month]')
    .description(
      'rebuild the indexes of a past month to make them about a third smaller, without blocking calls; waits for running backups; without a month: every past month that is not packed yet',
    )
    .action(async (month: string | undefined, _options: object, command: Command) => {
      const packed = await CallArchives.as(ownerUrl(surroundings), (archives) =>
        month === undefined ? archives.packDue() : archives.pack(monthIn(month)),
      );
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      const rows = packed.map((row) => ({
        table: row.table,
        bytes_before: row.bytesBefore,
        bytes: row.bytesAfter,
      }));
      const table = packed.length === 0 ? 'Every past month is packed.' : textTable(PACKED_COLUMNS, packed);
      surroundings.stdout.write(`${json ? JSON.stringify(rows, null, 2) : table}\n`);
    });
}

/** Asks for confirmation. Throws CliError when the answer is no, and when there is no terminal to ask on. */
async function confirm(
  { ask }: CliSurroundings,
  isSure: boolean | undefined,
  question: string,
): Promise<void> {
  if (isSure) {
    return;
  }
  if (!ask) {
    throw new CliError('cannot ask for confirmation without a terminal: add --yes', EXIT.usage);
  }
  if (!(await ask(question))) {
    throw new CliError('nothing was dropped');
  }
}

function ownerUrl({ environment }: CliSurroundings): string {
  const url = secretSetting(environment, 'DATABASE_OWNER_URL') ?? secretSetting(environment, 'DATABASE_URL');
  if (url === undefined || !isDatabaseUrl(url)) {
    throw new CliError(
      'set DATABASE_OWNER_URL (or DATABASE_URL) with the owner of the schema, like postgres://user@host/database',
      EXIT.usage,
    );
  }
  return url;
}

/** Parses a month. Throws CliError. */
function monthIn(text: string): Date {
  const month = new Date(`${text}-01T00:00:00Z`);
  if (!/^\d{4}-\d{2}$/.test(text) || Number.isNaN(month.getTime())) {
    throw new CliError(`${text} is not a month such as 2028-05`, EXIT.usage);
  }
  return month;
}

function actOf(action: string, month: string): AuditedAct {
  return { actor: `owner:${userInfo().username}`, request_id: null, action, object: month };
}

function monthOf({ month_start }: CallArchive): string {
  return month_start.toISOString().slice(0, 'YYYY-MM'.length);
}

function shownAsJson(row: CallArchive): object {
  const { calls, bytes, sha256, exported_at, dropped_at } = row;
  return { month: monthOf(row), calls: Number(calls), bytes: Number(bytes), sha256, exported_at, dropped_at };
}

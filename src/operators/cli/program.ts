import { Command, CommanderError } from 'commander';
import { VERSION } from '../../lib/version.ts';
import type { CliSurroundings } from './cli-context.ts';
import { CliError, EXIT } from './cli-error.ts';
import { addAccountCommands } from './commands/accounts.command.ts';
import { addArchiveCommands } from './commands/archive.command.ts';
import { addAuditCommand } from './commands/audit.command.ts';
import { addBookCommands } from './commands/books.command.ts';
import { addCatalogCommand } from './commands/catalog.command.ts';
import { addCheckCommands } from './commands/checks.command.ts';
import { addKeyCommands } from './commands/keys.command.ts';
import { addLedgerCommands } from './commands/ledger.command.ts';
import { addLookupCommands } from './commands/lookup.command.ts';
import { addDebtCommands, addMoneyCommands } from './commands/money.command.ts';
import { addQueueCommands } from './commands/queues.command.ts';
import { addSessionCommands } from './commands/sessions.command.ts';
import { addStatementCommands } from './commands/statements.command.ts';
import { addTaskCommands } from './commands/tasks.command.ts';
import { addWebhookCommands } from './commands/webhooks.command.ts';
import { addWorkerTokenCommands } from './commands/worker-tokens.command.ts';
import { addWorkerCommands } from './commands/workers.command.ts';

const AFTER_HELP = `
Environment:
  TOLLGATE_URL  address of the service (default: http://localhost:8080)
  ADMIN_TOKEN   the operator token; or
  DATA_DIR      the folder with the file admin.token that contains it (default: ./.data)
  DATABASE_OWNER_URL  the database, as the owner of the schema; only for \`tollgate archive\`

Exit codes: 0 done, 1 rejected or books violated, 2 wrong usage

Examples:
  tollgate accounts create Acme --credits 100.00
  tollgate why gen-01JD0000000000000000000000
  tollgate tasks list --state failed
  tollgate engines check local-sd --catalog tollgate.yaml
  tollgate ledger verify --json
`;

/** Runs `tollgate` with the given arguments. Returns the exit code; never rejects. */
export async function runCli(
  args: readonly string[],
  surroundings: Omit<CliSurroundings, 'setExitCode'>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const watched: CliSurroundings = {
    ...surroundings,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  try {
    await createProgram(watched).parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    const message = error instanceof Error ? error.message : String(error);
    surroundings.stderr.write(`tollgate: ${message}\n`);
    return error instanceof CliError ? error.exitCode : EXIT.refused;
  }
}

/** Creates the commands of `tollgate`. */
export function createProgram(surroundings: CliSurroundings): Command {
  const program = new Command('tollgate')
    .description('Manages a Tollgate installation: accounts, money, tasks, queues, books.')
    .version(VERSION)
    .option('-u, --url <address>', 'address of the service')
    .option('-j, --json', 'print JSON, for scripts')
    .helpCommand(true)
    .showHelpAfterError('(add --help to see the options)')
    .addHelpText('after', AFTER_HELP)
    .configureOutput({
      writeOut: (text) => void surroundings.stdout.write(text),
      writeErr: (text) => void surroundings.stderr.write(text),
    })
    .exitOverride();
  addLookupCommands(program, surroundings);
  addAccountCommands(program, surroundings);
  addMoneyCommands(program, surroundings);
  addDebtCommands(program, surroundings);
  addStatementCommands(program, surroundings);
  addKeyCommands(program, surroundings);
  addTaskCommands(program, surroundings);
  addQueueCommands(program, surroundings);
  addWorkerCommands(program, surroundings);
  addWorkerTokenCommands(program, surroundings);
  addSessionCommands(program, surroundings);
  addWebhookCommands(program, surroundings);
  addLedgerCommands(program, surroundings);
  addArchiveCommands(program, surroundings);
  addAuditCommand(program, surroundings);
  addBookCommands(program, surroundings);
  addCatalogCommand(program, surroundings);
  addCheckCommands(program, surroundings);
  return program;
}

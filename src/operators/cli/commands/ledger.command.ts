import type { Command } from 'commander';
import type { z } from 'zod';
import type { AccountJson, verifyResponse } from '../../operators.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';

type Report = z.output<typeof verifyResponse>['data'];

interface VerifyOptions {
  readonly account?: string;
  readonly each?: boolean;
}

const PATH = '/admin/v1/ledger/verify';
/** Longer than the time the service gives itself for the check. */
const TIMEOUT_MS = 330_000;

/** `tollgate ledger verify` */
export function addLedgerCommands(program: Command, surroundings: CliSurroundings): void {
  const ledger = program.command('ledger').description('check the books');
  ledger
    .command('verify')
    .description('check every invariant of the ledger; exits with 1 if one is violated')
    .option('-a, --account <account>', 'only this account')
    .option('-e, --each', 'check account by account: shorter snapshots, with a progress bar')
    .action(async (options: VerifyOptions, command: Command) => {
      if (options.each && options.account !== undefined) {
        throw new CliError('use either --account or --each', EXIT.usage);
      }
      const context = await CliContext.of(command, surroundings);
      const report = options.each ? await verifyEach(context) : await verify(context, options.account);
      show(context, report);
    });
}

function verify(context: CliContext, account: string | undefined): Promise<Report> {
  return context.progress.wheel(
    () => 'checking the books,',
    () => context.client.get<Report>(PATH, { account_id: account }, TIMEOUT_MS),
  );
}

async function verifyEach(context: CliContext): Promise<Report & { readonly accounts: number }> {
  const { client, progress } = context;
  const accounts = await client.list<AccountJson>(
    '/admin/v1/accounts',
    {},
    Number.POSITIVE_INFINITY,
    () => undefined,
  );
  const reports = await progress.bar('accounts', accounts, ({ id }) =>
    client.get<Report>(PATH, { account_id: id }, TIMEOUT_MS),
  );
  return {
    ok: reports.every(({ ok }) => ok),
    checked: Math.max(0, ...reports.map(({ checked }) => checked)),
    accounts: accounts.length,
    violations: reports.flatMap(({ violations }) => violations),
    duration_ms: reports.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
  };
}

function show(context: CliContext, report: Report & { readonly accounts?: number }): void {
  if (report.ok) {
    const seconds = (report.duration_ms / 1_000).toFixed(1);
    const of = report.accounts === undefined ? '' : ` for each of ${report.accounts} accounts`;
    context.showResult(
      report,
      `The books are correct: ${report.checked} invariants hold${of} (${seconds} s).`,
    );
    return;
  }
  const lines = report.violations.map(({ claim, object, detail }) => `  ${claim}\n    ${object}: ${detail}`);
  context.showResult(report, `The books are WRONG:\n${lines.join('\n')}`);
  context.setExitCode(EXIT.refused);
}

import type { Command } from 'commander';
import type { z } from 'zod';
import type { adjustmentResponse, refundResponse } from '../../operators.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { terminalText } from '../text-table.ts';
import { accountPath, showAccount } from './accounts.command.ts';

interface BookingOptions {
  readonly description: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface AdjustOptions extends BookingOptions {
  readonly reason: string;
}

interface DebtOptions extends BookingOptions {
  readonly amount?: string;
}

interface RefundOptions extends BookingOptions {
  readonly generation?: string;
  readonly transaction?: string;
  readonly amount?: string;
}

/** A booking request, and how to describe its response. */
interface Booking<Answer> {
  readonly path: string;
  readonly body: object;
  /** Describes the booking, e.g. "refund 0.05 USD to"; `answer` is the response to a dry run. */
  readonly act: (answer: Answer) => string;
  /** The balance afterwards, in USD. */
  readonly left: (answer: Answer) => string;
  readonly show: (context: CliContext, answer: Answer) => void;
}

type Adjustment = z.output<typeof adjustmentResponse>;
type Refund = z.output<typeof refundResponse>;

/** `tollgate adjust` and `tollgate refund`: credits that an operator gives or takes. */
export function addMoneyCommands(program: Command, surroundings: CliSurroundings): void {
  bookingCommand(program, 'adjust <account> <usd>')
    .description('book a correction; put -- before a negative amount, e.g. adjust -d Fee acc_… -- -2.50')
    .option('-r, --reason <reason>', 'reason in the ledger: grant, goodwill or correction', 'correction')
    .action(async (id: string, amount: string, options: AdjustOptions, command: Command) => {
      await book<Adjustment>(command, surroundings, options, {
        path: `${accountPath(id)}/adjustments`,
        body: { amount, description: options.description, reason: options.reason },
        act: ({ data }) =>
          `book ${amount} USD (${options.reason}) on ${data.id} "${terminalText(data.name)}"`,
        left: ({ data }) => data.remaining_credits,
        show: (context, { data }) => showAccount(context, data),
      });
    });
  bookingCommand(program, 'refund <account>')
    .description('refund a charge as credits, or take back a purchase whose money was returned')
    .option('-g, --generation <id>', 'the charged generation')
    .option('-t, --transaction <id>', 'the charge or purchase')
    .option('-a, --amount <usd>', 'amount in USD; default: what remains of a charge; required for a purchase')
    .action(async (id: string, options: RefundOptions, command: Command) => {
      if ((options.generation === undefined) === (options.transaction === undefined)) {
        throw new CliError('use either --generation or --transaction', EXIT.usage);
      }
      const { generation, transaction, amount, description } = options;
      await book<Refund>(command, surroundings, options, {
        path: `${accountPath(id)}/refunds`,
        body: { generation_id: generation, transaction_id: transaction, amount, description },
        act: ({ data }) => `refund ${data.amount} USD of ${generation ?? transaction} in ${id}${owed(data)}`,
        left: ({ data }) => data.remaining_credits,
        show: (context, { data }) =>
          context.showResult(data, `${data.amount} USD refunded as ${data.transaction_id}${owed(data)}.`),
      });
    });
}

/** Says how much of a purchase that is taken back the balance cannot cover. */
function owed({ debt }: Refund['data']): string {
  return debt === '0.00' ? '' : `, of which the account then owes ${debt} USD`;
}

/** `tollgate debt …`: debts that no checkout will pay. */
export function addDebtCommands(program: Command, surroundings: CliSurroundings): void {
  const debt = program.command('debt').description('debts of customers for reversed payments');
  for (const kind of ['forgiven', 'paid'] as const) {
    bookingCommand(debt, `${kind === 'paid' ? 'paid' : 'forgive'} <account>`)
      .description(kind === 'paid' ? 'record that a debt was paid outside the checkout' : 'write a debt off')
      .option('-a, --amount <usd>', 'amount in USD; default: the whole debt')
      .action(async (id: string, options: DebtOptions, command: Command) => {
        await book<Refund>(command, surroundings, options, {
          path: `${accountPath(id)}/debt`,
          body: { kind, amount: options.amount, description: options.description },
          act: ({ data }) => `book ${data.amount} USD of the debt of ${id} as ${kind}`,
          left: ({ data }) => data.remaining_credits,
          show: (context, { data }) =>
            context.showResult(data, `${data.amount} USD ${kind} as ${data.transaction_id}.`),
        });
      });
  }
}

function bookingCommand(parent: Command, nameAndArguments: string): Command {
  return parent
    .command(nameAndArguments)
    .requiredOption('-d, --description <text>', 'reason; the customer sees it')
    .option('-k, --idempotency-key <key>', 'repeating the command with the same key books only once')
    .option('--dry-run', 'show what would be booked, or why it would be rejected, without booking')
    .option('-y, --yes', 'do not ask for confirmation');
}

/**
 * Books after the person at the terminal has confirmed the result of a dry run. Throws CliError, also when there is no terminal
 * to ask on.
 */
async function book<Answer>(
  command: Command,
  surroundings: CliSurroundings,
  options: BookingOptions,
  { path, body, act, left, show }: Booking<Answer>,
): Promise<void> {
  const { ask } = surroundings;
  if (!options.yes && !options.dryRun && ask === undefined) {
    throw new CliError(
      'cannot ask for confirmation without a terminal: add --yes to book, or --dry-run to preview',
      EXIT.usage,
    );
  }
  const context = await CliContext.of(command, surroundings);
  if (!options.yes || options.dryRun) {
    const { idempotencyKey: key } = options;
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await context.client.send<Answer>('POST', `${path}?dry_run=true`, body, headers);
    const plan = `${act(answer)}; the balance is then ${left(answer)} USD`;
    if (options.dryRun) {
      context.showResult(answer as object, `Nothing was booked. This would ${plan}.`);
      return;
    }
    if (!(await ask?.(`This will ${plan}. Continue?`))) {
      throw new CliError('nothing was booked');
    }
  }
  show(context, await context.client.sendOnce<Answer>(path, body, options.idempotencyKey));
}

import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { AccountJson } from '../../operators.schema.ts';
import { CliContext, type CliSurroundings } from '../cli-context.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { accountPath, showAccount } from './accounts.command.ts';

interface CorrectionOptions {
  readonly description: string;
  readonly idempotencyKey?: string;
}

interface AdjustOptions extends CorrectionOptions {
  readonly reason: string;
}

interface DebtOptions extends CorrectionOptions {
  readonly amount?: string;
}

interface RefundOptions extends CorrectionOptions {
  readonly generation?: string;
  readonly transaction?: string;
  readonly amount?: string;
}

const KEY_HELP = 'run again with the same key, the money is booked once';

/** `tollgate adjust` and `tollgate refund`: money that an operator gives or takes. */
export function addMoneyCommands(program: Command, surroundings: CliSurroundings): void {
  program
    .command('adjust <account> <usd>')
    .description('book a correction; give a negative amount as --, e.g.: adjust acc_… -d "Fee" -- -2.50')
    .requiredOption('-d, --description <text>', 'why; the customer sees it')
    .option('-r, --reason <reason>', 'what the books call it: grant, goodwill or correction', 'correction')
    .option('-k, --idempotency-key <key>', KEY_HELP)
    .action(async (id: string, amount: string, options: AdjustOptions, command: Command) => {
      const context = await CliContext.of(command, surroundings);
      const body = { amount, description: options.description, reason: options.reason };
      const path = `${accountPath(id)}/adjustments`;
      const { data } = await context.client.send<{ data: AccountJson }>('POST', path, body, keyOf(options));
      showAccount(context, data);
    });
  program
    .command('refund <account>')
    .description('give back a charge, or take back a purchase whose money was returned')
    .option('-g, --generation <id>', 'the charged generation')
    .option('-t, --transaction <id>', 'the charge or purchase')
    .option('-a, --amount <usd>', 'default: what is left of it')
    .requiredOption('-d, --description <text>', 'why; the customer sees it')
    .option('-k, --idempotency-key <key>', KEY_HELP)
    .action(async (id: string, options: RefundOptions, command: Command) => {
      if ((options.generation === undefined) === (options.transaction === undefined)) {
        throw new CliError('give either --generation or --transaction', EXIT.usage);
      }
      const context = await CliContext.of(command, surroundings);
      const body = {
        generation_id: options.generation,
        transaction_id: options.transaction,
        amount: options.amount,
        description: options.description,
      };
      const { data } = await context.client.send<{ data: { transaction_id: string; amount: string } }>(
        'POST',
        `${accountPath(id)}/refunds`,
        body,
        keyOf(options),
      );
      context.showResult(data, `${data.amount} USD refunded as ${data.transaction_id}.`);
    });
}

/** `tollgate debt …`: a debt that no checkout will pay. */
export function addDebtCommands(program: Command, surroundings: CliSurroundings): void {
  const debt = program.command('debt').description('what customers owe for reversed payments');
  for (const kind of ['forgiven', 'paid'] as const) {
    debt
      .command(`${kind === 'paid' ? 'paid' : 'forgive'} <account>`)
      .description(kind === 'paid' ? 'book that it was paid outside of the checkout' : 'write it off')
      .option('-a, --amount <usd>', 'default: all of it')
      .requiredOption('-d, --description <text>', 'why; the customer sees it')
      .option('-k, --idempotency-key <key>', KEY_HELP)
      .action(async (id: string, options: DebtOptions, command: Command) => {
        const context = await CliContext.of(command, surroundings);
        const body = { kind, amount: options.amount, description: options.description };
        const { data } = await context.client.send<{ data: { transaction_id: string; amount: string } }>(
          'POST',
          `${accountPath(id)}/debt`,
          body,
          keyOf(options),
        );
        context.showResult(data, `${data.amount} USD ${kind} as ${data.transaction_id}.`);
      });
  }
}

/** Without a key of the operator's own, at least a request that is sent twice on the way is booked once. */
function keyOf(options: CorrectionOptions): Record<string, string> {
  return { 'idempotency-key': options.idempotencyKey ?? randomUUID() };
}

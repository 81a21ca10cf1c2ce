import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { type NanoUsd, nanoUsd, parseUsd } from '../../src/lib/money.ts';
import type { Database } from '../../src/store/database.ts';

export interface TestAccount {
  readonly id: string;
  readonly name: string;
}

/** Creates an account with credits (default 10.00 USD). */
export async function createAccount(
  database: Database,
  options: { name?: string; credits?: string | NanoUsd } = {},
): Promise<TestAccount> {
  const movements = new Movements(() => database.money);
  const id = newUuid();
  const name = options.name ?? `account ${id.slice(-6)}`;
  const given = options.credits ?? '10.00';
  const credits = typeof given === 'string' ? (parseUsd(given) ?? nanoUsd(0)) : given;
  await movements.openAccount(id, name);
  if (credits > 0n) {
    await movements.adjust({ accountId: id, reference: newUuid(), description: 'Opening credits' }, credits);
  }
  return { id, name };
}

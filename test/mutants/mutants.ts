import { type chargeFor, PRICE_NAMES, type Pricing } from '../../src/catalog/pricing.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import type { Database } from '../../src/store/database.ts';
import type { Parts } from './parts.types.ts';

/** A bug that a ledger like this one has had somewhere. */
export interface Mutant {
  readonly name: string;
  /** The scenario of the gauntlet that must fail with it. */
  readonly caughtBy: string;
  /** Edits of database functions: the required text and its replacement. */
  readonly edits?: readonly { readonly of: string; readonly replace: string; readonly by: string }[];
  /** Statements run as the owner of the schema. */
  readonly sql?: readonly string[];
  /** Parts of the program replaced by broken ones. */
  readonly parts?: Partial<Omit<Parts, 'db'>>;
}

/** Answers before the database has. */
class HastyStore extends LedgerStore {
  override async settle(items: Parameters<LedgerStore['settle']>[0]): ReturnType<LedgerStore['settle']> {
    setTimeout(() => void super.settle(items).catch(() => undefined), 20);
    return items.map(({ settlement }) => ({ outcome: 'settled', charge: settlement.charge.amount }));
  }
}

const floatCharge: typeof chargeFor = (usage, units, pricing) => {
  const asFloat = Object.fromEntries(
    PRICE_NAMES.map((name) => [name, Number(pricing[name]) / 1e12]),
  ) as Record<keyof Pricing, number>;
  const fresh = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
  const dollars =
    fresh * asFloat.prompt +
    usage.cacheReadTokens * asFloat.input_cache_read +
    usage.cacheWriteTokens * asFloat.input_cache_write +
    usage.outputTokens * asFloat.completion +
    units.requests * asFloat.request;
  const amount = nanoUsd(BigInt(Math.round(dollars * 1e9)));
  return { amount, lines: { input: amount } };
};

const DROP_BALANCE_CHECK = 'ALTER TABLE balances DROP CONSTRAINT balances_never_overspent';
const DROP_KEY_CHECK = 'ALTER TABLE api_keys DROP CONSTRAINT api_keys_never_above_limit';

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'missing status guard: settling does not remove the hold',
    caughtBy: 'stories agree with the model',
    edits: [
      {
        of: 'ledger_settle',
        replace: 'DELETE FROM holds h USING unnest(settlements) s',
        by: 'UPDATE holds h SET amount = h.amount FROM unnest(settlements) s',
      },
    ],
  },
  {
    name: 'no unique key: a purchase sent again is credited again',
    caughtBy: 'stories agree with the model',
    sql: ['ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_reference_unique'],
    edits: [{ of: 'ledger_purchase', replace: 'IF existing IS NOT NULL THEN', by: 'IF false THEN' }],
  },
  {
    name: 'settle before commit',
    caughtBy: 'a settled charge is there when the promise resolves',
    parts: { createStore: (database: Database) => new HastyStore(database.money) },
  },
  {
    name: 'no dedupe: an id that is in a batch twice is held twice',
    caughtBy: 'one id in a batch twice holds once',
    edits: [
      { of: 'ledger_reserve', replace: 'SELECT DISTINCT ON (r.id) r.*', by: 'SELECT r.*' },
      {
        of: 'ledger_write_holds',
        replace: 'INSERT INTO holds SELECT * FROM unnest(opened);',
        by: 'INSERT INTO holds SELECT * FROM unnest(opened) ON CONFLICT DO NOTHING;',
      },
    ],
  },
  {
    name: 'unsorted locks',
    caughtBy: 'accounts are locked in the order of their ids',
    edits: [
      { of: 'ledger_reserve', replace: 'ORDER BY b.account_id FOR', by: 'ORDER BY random() FOR' },
      { of: 'ledger_settle', replace: 'ORDER BY b.account_id FOR', by: 'ORDER BY random() FOR' },
    ],
  },
  {
    name: 'cached balance: the decision is made on a balance read without the lock',
    caughtBy: 'a hold waits for the previous one',
    sql: [DROP_BALANCE_CHECK],
    edits: [
      {
        of: 'ledger_reserve',
        replace: 'ORDER BY b.account_id FOR NO KEY UPDATE',
        by: 'ORDER BY b.account_id',
      },
    ],
  },
  {
    name: 'missing fence: any claim may end the task',
    caughtBy: 'a zombie cannot end a task',
    edits: [
      {
        of: 'ledger_end_tasks',
        replace: "coalesce((s.task->>'attempt')::integer, t.attempt) = t.attempt",
        by: 'true',
      },
    ],
  },
  { name: 'float rounding', caughtBy: 'charges are exact', parts: { chargeFor: floatCharge } },
  {
    name: 'now() in the close: an entry gets the start time of its transaction',
    caughtBy: 'a month once closed stays closed',
    sql: [
      `CREATE OR REPLACE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE
       RETURN now() + coalesce(nullif(current_setting('tollgate.clock_offset', true), ''), '0 s')::interval`,
    ],
    // the fence alone would prevent it
    edits: [{ of: 'state_month', replace: 'b.last_at < month_end', by: 'false' }],
  },
  {
    name: 'a close does not fence the time of its account',
    caughtBy: 'a clock set back dates nothing into a closed month',
    edits: [{ of: 'state_month', replace: 'b.last_at < month_end', by: 'false' }],
  },
  {
    name: 'a repeated key replays for another amount',
    caughtBy: 'a key identifies one booking, a debt is cleared once',
    edits: [{ of: 'ledger_reverse_payment', replace: 'existing.amount = taken', by: 'true' }],
  },
  {
    name: 'a repeated key replays for another description',
    caughtBy: 'a key identifies one booking, a debt is cleared once',
    edits: [
      {
        of: 'ledger_replayed',
        replace: 'e.description IS NOT DISTINCT FROM note',
        by: 'true',
      },
    ],
  },
  {
    name: 'more is forgiven than is owed',
    caughtBy: 'a key identifies one booking, a debt is cleared once',
    edits: [{ of: 'ledger_clear_debt', replace: 'NOT BETWEEN 1 AND owed', by: '< 1' }],
  },
  {
    name: 'a reversal is booked against the operator instead of cash',
    caughtBy: 'a key identifies one booking, a debt is cleared once',
    edits: [
      {
        of: 'ledger_reverse_payment',
        replace: "'refund', -taken, 'cash_clearing'",
        by: "'refund', -taken, 'operator'",
      },
    ],
  },
  {
    name: 'refund counted twice: earlier refunds of the charge are forgotten',
    caughtBy: 'a charge is refunded once',
    edits: [
      {
        of: 'ledger_refund_charge',
        replace: 'before + refunded > -charge.amount',
        by: 'refunded > -charge.amount',
      },
    ],
  },
  {
    name: 'key limit not enforced',
    caughtBy: 'never more than the key limit',
    sql: [DROP_KEY_CHECK],
    edits: [{ of: 'ledger_reserve', replace: 'WHEN key_free < candidate.minimum', by: 'WHEN false' }],
  },
  {
    name: 'key limit checked once per batch',
    caughtBy: 'never more than the key limit',
    sql: [DROP_KEY_CHECK],
    edits: [{ of: 'ledger_reserve', replace: 'key_free := key_free - granted;', by: '' }],
  },
  {
    name: 'roll-up overwritten instead of added to',
    caughtBy: 'a settled charge is there when the promise resolves',
    edits: [
      {
        of: 'ledger_write_settled',
        replace: 'charge = u.charge + excluded.charge,',
        by: 'charge = excluded.charge,',
      },
    ],
  },
  {
    name: 'settle ignores the free balance: usage above a hold is given away',
    caughtBy: 'stories agree with the model',
    edits: [
      {
        of: 'ledger_cover',
        replace: 'greatest(least(beyond, account_free, key_free), 0)',
        by: '0',
      },
    ],
  },
  {
    name: 'settle takes money held for others',
    caughtBy: 'stories agree with the model',
    sql: [DROP_BALANCE_CHECK],
    edits: [
      { of: 'ledger_cover', replace: 'b.posted - b.held AS account_free', by: 'b.posted AS account_free' },
    ],
  },
  {
    name: 'settle above the hold ignores the limit of the key',
    caughtBy: 'stories agree with the model',
    sql: [DROP_KEY_CHECK],
    edits: [
      {
        of: 'ledger_cover',
        replace: 'least(beyond, account_free, key_free)',
        by: 'least(beyond, account_free)',
      },
    ],
  },
  {
    name: 'running balance ignores the order within a batch',
    caughtBy: 'never more than the balance',
    edits: [
      {
        of: 'ledger_write_settled',
        replace: 'm.posted + (sum(g.charge) OVER later)::bigint - g.charge',
        by: 'm.posted',
      },
    ],
  },
  {
    name: 'the reaper closes a renewed hold',
    caughtBy: 'the reaper spares a renewed hold',
    edits: [{ of: 'ledger_settle', replace: 'NOT s.only_expired OR h.expires_at < settled_at', by: 'true' }],
  },
  {
    name: 'debt does not block',
    caughtBy: 'a debt blocks until it is repaid',
    edits: [{ of: 'ledger_reserve', replace: 'candidate.debt > 0 OR ', by: '' }],
  },
  {
    name: 'what a call gives back does not repay the debt',
    caughtBy: 'a debt blocks until it is repaid',
    edits: [{ of: 'ledger_settle', replace: 'IF indebted THEN', by: 'IF false THEN' }],
  },
  {
    name: 'a closed id can be held again',
    caughtBy: 'stories agree with the model',
    edits: [
      {
        of: 'ledger_reserve',
        replace: "WHEN candidate.closed THEN 'closed'",
        by: "WHEN false THEN 'closed'",
      },
    ],
  },
  {
    name: 'a dispute takes more than the balance',
    caughtBy: 'a key identifies one booking, a debt is cleared once',
    sql: [DROP_BALANCE_CHECK],
    edits: [
      {
        of: 'ledger_reverse_payment',
        replace: 'from_balance := least(taken, balance.posted - balance.held)',
        by: 'from_balance := taken',
      },
    ],
  },
  {
    name: 'a reinstatement forgets the debt',
    caughtBy: 'a won dispute repays the debt first',
    edits: [
      {
        of: 'ledger_reinstate_payment',
        replace: 'PERFORM ledger_repay_debt(account, entry_reference);',
        by: '',
      },
    ],
  },
  {
    name: 'a reinstatement gives back more than was taken',
    caughtBy: 'stories agree with the model',
    edits: [
      {
        of: 'ledger_reinstate_payment',
        replace: 'IF given > payment_reversed(ledger_reinstate_payment.purchase_reference)',
        by: 'IF false',
      },
    ],
  },
  {
    name: 'an outdated list of refunds is booked',
    caughtBy: 'refunds and disputes end with credits that equal the money',
    edits: [{ of: 'ledger_follow_payment', replace: 'AND s.reversals_seen = seen', by: '' }],
  },
  {
    name: 'a failed refund is not given back',
    caughtBy: 'refunds and disputes end with credits that equal the money',
    edits: [{ of: 'ledger_follow_payment', replace: 'p.booked > p.amount', by: 'false' }],
  },
  {
    name: 'a refund beyond the payment is not booked at all',
    caughtBy: 'refunds and disputes end with credits that equal the money',
    edits: [
      {
        of: 'ledger_follow_payment',
        replace: 'least(standing.amount - standing.booked, room)',
        by: 'CASE WHEN standing.amount - standing.booked > room THEN 0 ELSE standing.amount - standing.booked END',
      },
    ],
  },
  {
    name: 'an hour is finished before it is over',
    caughtBy: 'stories agree with the model',
    edits: [
      {
        of: 'finish_usage_days',
        replace: "ledger_now(), 'epoch'::timestamptz);",
        by: "interval '1 hour' + ledger_now(), 'epoch'::timestamptz);",
      },
      {
        of: 'finish_usage_days',
        replace: 'SET last_at = until_time WHERE',
        by: 'SET last_at = b.last_at WHERE',
      },
    ],
  },
];

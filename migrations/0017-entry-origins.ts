import type { Migration } from './migration.types.ts';

/** Who booked an entry, by which request and for what reason; debts as entries (docs/decisions/0009-debts-are-entries.md). */
export const entryOrigins: Migration = {
  name: '0017-entry-origins',
  up: `
    ALTER TABLE ledger_entries
      -- an operator's name, a payment provider, 'system'; NULL on usage (its key is the actor) and on entries of earlier releases
      ADD COLUMN actor text,
      ADD COLUMN request_id text,
      ADD COLUMN reason_code text CHECK (reason_code IN ('purchase', 'bank_payment', 'grant', 'goodwill', 'correction',
        'usage_refund', 'payment_refund', 'dispute', 'reinstatement', 'debt', 'debt_repayment', 'write_off'));

    -- Debts of earlier releases stand in no entry: what the providers took beyond the balances is booked now, because closed
    -- months do not change.
    DO $$
    DECLARE
      owing balances;
      booking uuid;
    BEGIN
      FOR owing IN SELECT * FROM balances WHERE debt > 0 ORDER BY account_id FOR NO KEY UPDATE
      LOOP
        booking := gen_random_uuid();
        INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, description, at, actor, reason_code)
          VALUES (owing.account_id, owing.seq + 1, 'adjustment', owing.debt, owing.posted + owing.debt, 'receivable', booking,
                  'Owed for reversed payments', greatest(owing.last_at, ledger_now()), 'upgrade', 'debt'),
                 (owing.account_id, owing.seq + 2, 'refund', -owing.debt, owing.posted, 'cash_clearing', booking,
                  'Payments reversed before', greatest(owing.last_at, ledger_now()), 'upgrade', 'payment_refund');
        UPDATE balances SET seq = seq + 2, last_at = greatest(last_at, ledger_now()) WHERE account_id = owing.account_id;
      END LOOP;
    END $$;`,
  down: `
    CREATE OR REPLACE FUNCTION ledger_existing(account uuid, entry_type ledger_entry_type, entry_reference uuid, signed_amount bigint)
    RETURNS text LANGUAGE sql STABLE SET search_path = public, pg_temp AS
      $$ SELECT NULL::text $$;
    ALTER TABLE ledger_entries DROP COLUMN reason_code, DROP COLUMN request_id, DROP COLUMN actor;`,
};

import type { Migration } from './migration.types.ts';

/**
 * Ways into the two functions on the path of every call for batches of few items: their statements are planned once per
 * connection. Planning them for each batch cost almost half of a lone hold's time (1.5 ms against 0.9 ms). From 16 items on it
 * makes no difference, and a plan that is made for the batch knows how many there are.
 *
 * A plan that is made while a table is still empty would read it as a whole, and go on doing so when it has grown: these use
 * indexes wherever there is one.
 */
export const ledgerPlans: Migration = {
  name: '0011-ledger-plans',
  up: `
    CREATE FUNCTION ledger_reserve_few(batch jsonb) RETURNS TABLE (id uuid, outcome text, granted bigint)
    LANGUAGE sql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS
    $$ SELECT r.id, r.outcome, r.granted FROM ledger_reserve(batch) r $$;

    CREATE FUNCTION ledger_settle_few(batch jsonb) RETURNS TABLE (id uuid, outcome text, charge bigint)
    LANGUAGE sql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS
    $$ SELECT s.id, s.outcome, s.charge FROM ledger_settle(batch) s $$;`,
  down: `
    DROP FUNCTION ledger_reserve_few(jsonb);
    DROP FUNCTION ledger_settle_few(jsonb);`,
};

import { escapeIdentifier, escapeLiteral } from 'pg';
import { onOurObjects } from './our-objects.ts';

/** Tables written only by the ledger's SECURITY DEFINER functions. */
export const LEDGER_TABLES: readonly string[] = [
  'balances',
  'holds',
  'generations',
  'ledger_entries',
  'usage_rollups',
  'usage_days',
  'usage_hours',
  'usage_hour_totals',
  'usage_day_marks',
  'write_offs',
  'write_off_totals',
  'payment_reversals',
  'payment_reinstatements',
  'ledger_seals',
  'audit_seals',
  'payment_standings',
  'booking_references',
  'accounts',
  'price_periods',
  'price_versions',
  'call_archives',
];

/** Key columns that the application may set when it creates a key. Only the ledger may write what is spent and held. */
const KEY_COLUMNS =
  'id, account_id, hash, name, label, role, disabled, allowed_models, limit_nano, cap_nano, limit_reset, counted_from, created_at, expires_at';

/**
 * Returns grants for an application role that is not the owner: it reads everything and writes everything but money. The
 * append-only triggers bind the owner as well; the rights are the second safeguard. Run after each migration; idempotent.
 */
export function rightsOf(applicationRole: string, schema: string): string {
  const role = escapeIdentifier(applicationRole);
  return `
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    ${onOurObjects('TABLE', schema, ['GRANT SELECT, INSERT, UPDATE, DELETE', `TO ${role}`])}
    ${onOurObjects('SEQUENCE', schema, ['GRANT USAGE', `TO ${role}`])}
    ${onOurObjects('FUNCTION', schema, ['GRANT EXECUTE', `TO ${role}`])}
    REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ${LEDGER_TABLES.join(', ')} FROM ${role};
    REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON api_keys FROM ${role};
    GRANT INSERT (${KEY_COLUMNS}), UPDATE (last_used_at) ON api_keys TO ${role};
    REVOKE UPDATE, DELETE, TRUNCATE ON audit_log, invoices, documents, document_csv_parts FROM ${role};
    GRANT UPDATE (status) ON invoices TO ${role};
    REVOKE INSERT ON invoices FROM ${role};
    REVOKE INSERT, UPDATE, DELETE ON schema_migrations, schema_functions FROM ${role};
    DO $inner$
    DECLARE
      partition regclass;
    BEGIN
      FOR partition IN SELECT inhrelid::regclass FROM pg_inherits
        WHERE inhparent IN ('generations'::regclass, 'ledger_entries'::regclass, 'usage_rollups'::regclass)
      LOOP
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %s FROM %I', partition, ${escapeLiteral(applicationRole)});
      END LOOP;
    END $inner$;
    DO $inner$
    DECLARE
      inner_function regprocedure;
    BEGIN
      FOR inner_function IN SELECT p.oid::regprocedure FROM pg_proc p
        WHERE p.pronamespace = ${escapeLiteral(schema)}::regnamespace
          AND p.proname IN ('ledger_append', 'ledger_write_holds', 'ledger_write_settled', 'ledger_end_tasks', 'ledger_cover', 'state_month', 'ledger_repay_debt', 'fill_hour_totals')
      LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %I, PUBLIC', inner_function, ${escapeLiteral(applicationRole)});
      END LOOP;
    END $inner$;
  `;
}

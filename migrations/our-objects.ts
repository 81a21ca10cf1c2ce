import { escapeLiteral } from 'pg';

type ObjectKind = 'TABLE' | 'SEQUENCE' | 'FUNCTION';

const CATALOGS: Readonly<Record<ObjectKind, string>> = {
  TABLE: `SELECT oid::regclass::text, relowner, relnamespace FROM pg_class WHERE relkind IN ('r', 'p', 'v')`,
  SEQUENCE: `SELECT oid::regclass::text, relowner, relnamespace FROM pg_class WHERE relkind = 'S'`,
  FUNCTION: `SELECT oid::regprocedure::text, proowner, pronamespace FROM pg_proc WHERE prokind = 'f'`,
};

/**
 * Returns a block that grants or revokes something on each of our tables, sequences or functions in a schema: `action` is what stands
 * before ON, `whom` what stands after the object. Other programs may have objects there as well, whose rights are not ours to change and
 * often cannot be: `ON ALL TABLES` would fail. Ours belong to the migrating role, or to the one that migrated first.
 */
export function onOurObjects(
  kind: ObjectKind,
  schema: string,
  [action, whom]: readonly [string, string],
): string {
  return `
    DO $ours$
    DECLARE
      object text;
    BEGIN
      FOR object IN SELECT o.name FROM (${CATALOGS[kind]}) o (name, owner, namespace)
        WHERE o.namespace = ${escapeLiteral(schema)}::regnamespace
          AND o.owner IN (SELECT relowner FROM pg_class WHERE oid = 'schema_migrations'::regclass
                           UNION ALL SELECT oid FROM pg_roles WHERE rolname = current_user)
      LOOP
        EXECUTE ${escapeLiteral(`${action} ON ${kind} `)} || object || ${escapeLiteral(` ${whom}`)};
      END LOOP;
    END $ours$;`;
}

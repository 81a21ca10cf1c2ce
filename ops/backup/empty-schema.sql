-- Empties the schema public, within the transaction of restore.sh or drill.sh. A role that may not replace the schema, as in Postgres 14 and on
-- managed servers, drops what is in it one by one; extensions, which belong to a superuser there, stay.
DO $empty$
DECLARE
  owner oid := (SELECT nspowner FROM pg_namespace WHERE nspname = 'public');
  statement text;
BEGIN
  IF owner IS NULL OR (pg_has_role(owner, 'USAGE') AND has_database_privilege(current_database(), 'CREATE')) THEN
    DROP SCHEMA IF EXISTS public CASCADE;
    CREATE SCHEMA public;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    RETURN;
  END IF;
  FOREACH statement IN ARRAY (
    SELECT coalesce(array_agg(format('DROP %s IF EXISTS %s CASCADE', o.kind, o.name)), '{}')
      FROM (SELECT 'pg_class'::regclass, c.oid, c.oid::regclass::text, c.relnamespace,
                   CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE'
                                WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END
              FROM pg_class c WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
            UNION ALL
            SELECT 'pg_proc'::regclass, p.oid, p.oid::regprocedure::text, p.pronamespace, CASE prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'ROUTINE' END
              FROM pg_proc p
            UNION ALL
            SELECT 'pg_type'::regclass, t.oid, t.oid::regtype::text, t.typnamespace, CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END
              FROM pg_type t WHERE typtype IN ('e', 'd', 'r')) o (catalog, id, name, namespace, kind)
     WHERE o.namespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = o.catalog AND d.objid = o.id
                        AND (d.deptype = 'e' OR d.deptype = 'i' AND o.kind = 'SEQUENCE')))
  LOOP
    EXECUTE statement;
  END LOOP;
END $empty$;

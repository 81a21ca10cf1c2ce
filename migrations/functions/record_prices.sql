-- Records the prices of a catalog that takes effect, and since when each applies: [{id, model, pricing}]. A price that already applies
-- changes nothing; the price of a model that is no longer there ends. Each change gets a row in the audit log.
CREATE OR REPLACE FUNCTION record_prices(prices jsonb, actor text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO price_versions (id, model, pricing)
    SELECT p.id, p.model, p.pricing FROM jsonb_to_recordset(prices) p (id text, model text, pricing jsonb)
    ON CONFLICT (id) DO NOTHING;
  -- processes load the same file at the same time; each must see what the previous one wrote
  PERFORM pg_advisory_xact_lock(hashtextextended('price-periods', 0));
  WITH last AS (SELECT DISTINCT ON (p.model) p.model, p.price_version FROM price_periods p ORDER BY p.model, p.id DESC),
  changed AS (
    SELECT coalesce(l.model, n.model) AS model, n.id AS version, n.pricing
      FROM last l FULL JOIN jsonb_to_recordset(prices) n (id text, model text, pricing jsonb) ON n.model = l.model
     WHERE n.id IS DISTINCT FROM l.price_version),
  begun AS (
    INSERT INTO price_periods (model, price_version, starts_at, actor)
      SELECT c.model, c.version, ledger_now(), record_prices.actor FROM changed c ORDER BY c.model)
  INSERT INTO audit_log (actor, action, object, detail)
    SELECT record_prices.actor, CASE WHEN c.version IS NULL THEN 'price.end' ELSE 'price.change' END, c.model,
           jsonb_strip_nulls(jsonb_build_object('price_version', c.version, 'pricing', c.pricing))
      FROM changed c ORDER BY c.model;
END $$;

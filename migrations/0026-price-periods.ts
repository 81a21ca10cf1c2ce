import type { Migration } from './migration.types.ts';

/** Which price was in force when, and by whose catalog. */
export const pricePeriods: Migration = {
  name: '0026-price-periods',
  up: `
    CREATE TABLE price_periods (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      model text NOT NULL,
      -- NULL: the model is not sold from then on
      price_version text REFERENCES price_versions (id),
      starts_at timestamptz NOT NULL,
      -- the catalog that brought it: its file and the SHA-256 of its text
      actor text NOT NULL
    );
    CREATE INDEX price_periods_model ON price_periods (model, id DESC);
    CREATE TRIGGER price_periods_append_only BEFORE UPDATE OR DELETE ON price_periods
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    -- earlier releases kept only when a price was first seen
    INSERT INTO price_periods (model, price_version, starts_at, actor)
      SELECT model, id, created_at, 'upgrade' FROM price_versions ORDER BY created_at, id;`,
  down: 'DROP TABLE price_periods;',
};

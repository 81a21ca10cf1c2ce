import type { Migration } from './migration.types.ts';

/** How many more tokens than our count providers report for inputs, by their own names of their models. */
export const inputMargins: Migration = {
  name: '0021-input-margins',
  up: `
    CREATE TABLE input_margins (
      provider text NOT NULL,
      model text NOT NULL,
      -- the provider's tokens for one of ours, and tokens of every call that nobody sends
      ratio double precision NOT NULL CHECK (ratio BETWEEN 1 AND 100),
      tokens double precision NOT NULL CHECK (tokens BETWEEN 0 AND 1000000),
      reports bigint NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (provider, model)
    );
  `,
  down: 'DROP TABLE input_margins;',
};

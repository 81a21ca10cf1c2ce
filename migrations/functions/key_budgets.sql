-- The limit of a key at an instant. All three functions are inlined into the statements that decide, so they have no SET and no SECURITY
-- DEFINER. They take columns and are immutable: a router of several databases may call only such functions on a row where it carries out
-- a write, and the row as a whole has another type there.

-- Returns the start of the day, week or month that contains the instant; NULL for a limit that does not renew.
CREATE OR REPLACE FUNCTION budget_start(limit_reset text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN date_trunc(CASE limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' END,
                  at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';

-- Returns the value of `spent` at the start of the count that applies at the instant. A clock that is set back does not renew a limit
-- again: the latest count continues.
CREATE OR REPLACE FUNCTION limit_base(limit_reset text, counted_from timestamptz, spent bigint, spent_before bigint, at timestamptz)
RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN CASE WHEN budget_start(limit_reset, at) > counted_from THEN spent ELSE spent_before END;

-- Returns what the key may still hold; NULL without a limit. Open holds count in whichever period they are settled.
CREATE OR REPLACE FUNCTION limit_free(limit_nano bigint, held bigint, limit_reset text, counted_from timestamptz, spent bigint,
  spent_before bigint, at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN limit_nano - (spent - limit_base(limit_reset, counted_from, spent, spent_before, at)) - held;

-- Kept for processes of the previous release while they are being replaced.
CREATE OR REPLACE FUNCTION budget_base(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, at);

CREATE OR REPLACE FUNCTION budget_free(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, at);

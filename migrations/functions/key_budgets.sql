-- The limit of a key at an instant. All three are inlined into the statements that decide: no SET, no SECURITY DEFINER. They take columns
-- and are immutable: where a router of several databases carries out a write, it may call only such functions of a row, and the row as a
-- whole has another type there.

-- When the day, week or month began that the instant lies in; NULL for a limit that does not renew.
CREATE OR REPLACE FUNCTION budget_start(limit_reset text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN date_trunc(CASE limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' END,
                  at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';

-- What `spent` was when the count began that holds at the instant. A clock that steps back does not renew a limit again:
-- the count that began last goes on.
CREATE OR REPLACE FUNCTION limit_base(limit_reset text, counted_from timestamptz, spent bigint, spent_before bigint, at timestamptz)
RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN CASE WHEN budget_start(limit_reset, at) > counted_from THEN spent ELSE spent_before END;

-- What the key may still hold; NULL without a limit. What open calls hold counts in whatever period they are settled.
CREATE OR REPLACE FUNCTION limit_free(limit_nano bigint, held bigint, limit_reset text, counted_from timestamptz, spent bigint,
  spent_before bigint, at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN limit_nano - (spent - limit_base(limit_reset, counted_from, spent, spent_before, at)) - held;

-- As processes of the release before ask, while they are being replaced.
CREATE OR REPLACE FUNCTION budget_base(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, at);

CREATE OR REPLACE FUNCTION budget_free(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, at);

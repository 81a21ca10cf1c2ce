-- The limit of a key at an instant. All three are inlined into the statements that decide: no SET, no SECURITY DEFINER.

-- When the day, week or month began that the instant lies in; NULL for a limit that does not renew.
CREATE OR REPLACE FUNCTION budget_start(limit_reset text, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
RETURN date_trunc(CASE limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' END,
                  at, 'UTC');

-- What `spent` was when the count began that holds at the instant. A clock that steps back does not renew a limit again:
-- the count that began last goes on.
CREATE OR REPLACE FUNCTION budget_base(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN CASE WHEN budget_start(k.limit_reset, at) > k.counted_from THEN k.spent ELSE k.spent_before END;

-- What the key may still hold; NULL without a limit. What open calls hold counts in whatever period they are settled.
CREATE OR REPLACE FUNCTION budget_free(k api_keys, at timestamptz) RETURNS bigint LANGUAGE sql STABLE
RETURN k.limit_nano - (k.spent - budget_base(k, at)) - k.held;

-- Formats nano-USD as decimal text for people: 7.00
CREATE OR REPLACE FUNCTION usd_text(nano bigint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT to_char(nano / 1000000000::numeric, 'FM9999999990.009999999')
$$;

-- Books the difference between the provider's list for a payment and what is booked of it. Ended reversals are given back first, then
-- current ones are taken as far as the purchase goes. seen: reversals_seen as read before the provider was queried.
-- reversals: [{id, kind, amount, taken, reinstated}]; the last two are the references under which earlier releases booked.
CREATE OR REPLACE FUNCTION ledger_follow_payment(account uuid, purchase uuid, seen bigint, reversals jsonb, provider text,
  object_id text) RETURNS TABLE (outcome text, unbooked_nano bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  standing payment_standings;
  room bigint;
  step bigint;
  result text;
BEGIN
  UPDATE checkout_sessions s SET reversals_seen = s.reversals_seen + 1
    WHERE s.id = purchase AND s.account_id = account AND s.reversals_seen = seen;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'stale', 0::bigint;
    RETURN;
  END IF;
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  PERFORM act_as(jsonb_build_object('actor', provider));
  INSERT INTO payment_standings AS p (purchase_reference, reversal, account_id, kind, amount, booked, first_at)
    SELECT purchase, r.id, account, r.kind, r.amount, greatest(0,
             coalesce((SELECT t.amount FROM payment_reversals t WHERE t.account_id = account AND t.reference = r.taken), 0)
             - coalesce((SELECT i.amount FROM payment_reinstatements i
                 WHERE i.account_id = account AND i.reference = r.reinstated), 0)
             - coalesce((SELECT e.amount FROM ledger_entries e
                 WHERE e.account_id = account AND e.reference = r.reinstated AND e.type = 'adjustment' AND NOT EXISTS
                   (SELECT 1 FROM payment_reinstatements i WHERE i.account_id = account AND i.reference = r.reinstated)), 0)),
           ledger_now()
      FROM jsonb_to_recordset(reversals) r (id text, kind text, amount bigint, taken uuid, reinstated uuid)
    ON CONFLICT (purchase_reference, reversal) DO UPDATE SET amount = excluded.amount;

  FOR standing IN SELECT * FROM payment_standings p
    WHERE p.purchase_reference = purchase AND p.booked > p.amount ORDER BY p.first_at, p.reversal
  LOOP
    step := standing.booked - standing.amount;
    result := ledger_reinstate_payment(account, payment_step_reference(provider, standing, ledger_now()), purchase, step,
      CASE standing.kind WHEN 'refund' THEN 'Refund of a payment failed' ELSE 'Dispute decided in your favour' END);
    IF result <> 'posted' THEN
      RAISE EXCEPTION 'reinstating % of purchase % returned %', step, purchase, result;
    END IF;
    INSERT INTO audit_log (actor, action, object, detail) VALUES (provider, 'payment.reinstate', object_id,
      jsonb_build_object(standing.kind, standing.reversal, 'amount', usd_text(step)));
    UPDATE payment_standings p SET booked = p.amount, steps = p.steps + 1
      WHERE p.purchase_reference = purchase AND p.reversal = standing.reversal;
  END LOOP;

  SELECT e.amount INTO STRICT room FROM ledger_entries e
    WHERE e.reference = purchase AND e.type = 'credit_purchase' AND e.account_id = account;
  room := room - payment_reversed(purchase);
  FOR standing IN SELECT * FROM payment_standings p
    WHERE p.purchase_reference = purchase AND (p.booked < p.amount OR p.unbooked <> 0) ORDER BY p.first_at, p.reversal
  LOOP
    step := greatest(0, least(standing.amount - standing.booked, room));
    IF step > 0 THEN
      PERFORM act_as(jsonb_build_object('actor', provider, 'reason',
        CASE standing.kind WHEN 'refund' THEN 'payment_refund' ELSE 'dispute' END));
      result := ledger_reverse_payment(account, payment_step_reference(provider, standing, ledger_now()), purchase, step,
        CASE standing.kind WHEN 'refund' THEN 'Payment refunded' ELSE 'Payment disputed' END);
      IF result <> 'posted' THEN
        RAISE EXCEPTION 'reversing % of purchase % returned %', step, purchase, result;
      END IF;
      room := room - step;
    END IF;
    IF step > 0 OR standing.unbooked <> standing.amount - standing.booked - step THEN
      INSERT INTO audit_log (actor, action, object, detail) VALUES (provider, 'payment.reverse', object_id,
        jsonb_build_object(standing.kind, standing.reversal, 'amount', usd_text(step),
          'unbooked', usd_text(standing.amount - standing.booked - step)));
      UPDATE payment_standings p
         SET booked = p.booked + step, unbooked = p.amount - p.booked - step, steps = p.steps + sign(step)::integer
       WHERE p.purchase_reference = purchase AND p.reversal = standing.reversal;
    END IF;
  END LOOP;
  RETURN QUERY SELECT 'followed', coalesce(sum(p.unbooked), 0)::bigint FROM payment_standings p
    WHERE p.purchase_reference = purchase;
END $$;

-- Returns the reference of the next booking for a standing.
CREATE OR REPLACE FUNCTION payment_step_reference(provider text, standing payment_standings, at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT named_owned_id(provider || '/' || standing.purchase_reference || '/' || standing.reversal || '/' || standing.steps,
    standing.account_id, at)
$$;
DROP FUNCTION IF EXISTS payment_step_reference(text, payment_standings);

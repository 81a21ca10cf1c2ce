import type { SqlStatement } from '../store/statement.ts';

/** $1 provider, $2 event, $3 type, $4 object, $5 what is kept of it as JSON. No row when the event is already stored. */
export const storePaymentEvent: SqlStatement = {
  name: 'store_payment_event',
  text: `
    INSERT INTO webhook_inbox (provider, event_id, type, object_id, body) VALUES ($1, $2, $3, $4, $5::jsonb)
    ON CONFLICT (provider, event_id) DO NOTHING RETURNING event_id`,
};

/** $1 provider, $2 limit. Claims waiting events for half a minute. Each further try waits twice as long, up to an hour. */
export const claimPaymentEvents: SqlStatement = {
  name: 'claim_payment_events',
  text: `
    UPDATE webhook_inbox i
       SET tries = i.tries + 1, next_try_at = statement_timestamp() + least(30 * 2 ^ least(i.tries, 10), 3600) * interval '1 s'
     WHERE (i.provider, i.event_id) IN (
       SELECT w.provider, w.event_id FROM webhook_inbox w
        WHERE w.provider = $1 AND w.processed_at IS NULL AND w.next_try_at <= statement_timestamp()
        ORDER BY w.next_try_at LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING i.event_id, i.type, i.object_id, i.body->>'subject' AS subject, i.received_at`,
};

/** $1 provider, $2 event, $3 the problem with it or NULL. */
export const finishPaymentEvent: SqlStatement = {
  name: 'finish_payment_event',
  text: `
    UPDATE webhook_inbox SET processed_at = statement_timestamp(), error = $3 WHERE provider = $1 AND event_id = $2`,
};

/** $1 provider, $2 event, $3 why it will be retried. */
export const failPaymentEvent: SqlStatement = {
  name: 'fail_payment_event',
  text: `UPDATE webhook_inbox SET error = $3 WHERE provider = $1 AND event_id = $2`,
};

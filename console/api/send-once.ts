import { useRef } from 'preact/hooks';
import { newUuid } from '../lib/uuid.ts';
import { type Answer, send } from './client.ts';

export type SendOnce = <T>(path: string, body?: object) => Promise<Answer<T>>;

/**
 * Returns how a form sends what must not be done twice: an order, a key, a payment. If an answer was lost, sending the same content again
 * gets the answer of the first attempt. Other content, or the same after an answer, is a new wish.
 */
export function useSendOnce(): SendOnce {
  const unanswered = useRef(new Map<string, string>());
  return async <T>(path: string, body?: object) => {
    const content = JSON.stringify([path, body]);
    const key = unanswered.current.get(content) ?? newUuid();
    unanswered.current.set(content, key);
    const headers = { 'idempotency-key': key };
    const answer = await send<T>('POST', path, { headers, ...(body && { body }) });
    unanswered.current.delete(content);
    return answer;
  };
}

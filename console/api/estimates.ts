import { useEffect, useState } from 'preact/hooks';
import type { ChatMessage } from './chat-stream.ts';
import { send } from './client.ts';
import type { Estimate } from './types.gen.ts';

/** Pause in typing after which the service is asked, in ms. */
const PAUSE_MS = 300;

export interface EstimatedChat {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens: number;
}

/**
 * Returns what the service would hold for a call; undefined until it has responded for exactly this call, and if it rejects it.
 */
export function useEstimate(request: EstimatedChat | undefined): Estimate | undefined {
  const [told, setTold] = useState<{ readonly asked: string; readonly estimate: Estimate }>();
  const asked = JSON.stringify({ endpoint: '/api/v1/chat/completions', request });
  const isWanted = request !== undefined;
  useEffect(() => {
    if (!isWanted) {
      return undefined;
    }
    const leaving = new AbortController();
    const ask = async () => {
      const sending = { body: JSON.parse(asked), signal: leaving.signal };
      setTold({ asked, estimate: (await send<Estimate>('POST', '/api/v1/estimates', sending)).data });
    };
    // a rejection is shown when it matters: when the call is made
    const timer = setTimeout(() => void ask().catch(() => undefined), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [asked, isWanted]);
  return told?.asked === asked ? told.estimate : undefined;
}

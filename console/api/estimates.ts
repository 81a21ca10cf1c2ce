import { useEffect, useState } from 'preact/hooks';
import type { ChatMessage } from './chat-stream.ts';
import { send } from './client.ts';
import type { Estimate } from './types.gen.ts';

/** A pause in typing, in ms, after which the service is asked. */
const PAUSE_MS = 300;

export interface EstimatedChat {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens: number;
}

/** What the service would hold for a call; undefined until it has said so of exactly this one, and where it refuses it. */
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
    // why it was refused is told where it counts: by the call
    const timer = setTimeout(() => void ask().catch(() => undefined), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [asked, isWanted]);
  return told?.asked === asked ? told.estimate : undefined;
}

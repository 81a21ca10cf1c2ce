import { Agent, request } from 'undici';
import { newSecret } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';
import type { RunningLoad } from './load-client.ts';
import { CHAT_MODEL } from './stack.ts';

export interface HammerOrder {
  readonly url: string;
  readonly connections: number;
  /** A key; else none at all, or one of a right form at each call that nobody was given. */
  readonly credential: { readonly key: string } | 'none' | 'unknown';
  readonly isHeavy: boolean;
}

const LIGHT = Buffer.from('{"model":"x","messages":[{"role":"user","content":"x"}]}');

/** So many connections that send a call as soon as the last one was answered, whatever the answer. */
export function startHammer({ url, connections, credential, isHeavy }: HammerOrder): RunningLoad {
  const dispatcher = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const body = isHeavy ? heavyBody() : LIGHT;
  let isStopping = false;
  const client = async (): Promise<void> => {
    while (!isStopping) {
      const answer = await request(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json', ...headersOf(credential) },
        body,
      }).catch(() => undefined);
      await answer?.body.dump().catch(() => undefined);
    }
  };
  const running = Array.from({ length: connections }, client);
  return {
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      await dispatcher.destroy();
    },
  };
}

/** 9.9 MB of a structure that is as large as it may be. */
function heavyBody(): Buffer {
  const messages = Array.from({ length: 30_000 }, () => ({ role: 'user', content: 'x'.repeat(290) }));
  return Buffer.from(JSON.stringify({ model: CHAT_MODEL, messages }));
}

function headersOf(credential: HammerOrder['credential']): Record<string, string> {
  if (credential === 'none') {
    return {};
  }
  const key = credential === 'unknown' ? newSecret(newUuid()) : credential.key;
  return { authorization: `Bearer ${key}` };
}

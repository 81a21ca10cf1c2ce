import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { newSecret } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';
import type { RunningLoad } from './load-client.ts';
import { pause } from './pause.ts';
import { CHAT_MODEL } from './stack.ts';

export interface HammerOrder {
  readonly url: string;
  readonly connections: number;
  /** A key, no key, or a new well-formed but unknown key for each call. */
  readonly credential: { readonly key: string } | 'none' | 'unknown';
  readonly isHeavy: boolean;
}

const LIGHT = Buffer.from('{"model":"x","messages":[{"role":"user","content":"x"}]}');
/** 13 MB/s per connection, so that ten of them fill a line of 1 Gbit/s: the loopback address has no limit of its own. */
const PIECE_BYTES = 64 * 1024;
const PIECE_EVERY_MS = 5;

/** Opens connections that each send a call as soon as the previous one was answered, whatever the answer. */
export function startHammer({ url, connections, credential, isHeavy }: HammerOrder): RunningLoad {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const body = isHeavy ? heavyBody() : LIGHT;
  let isStopping = false;
  const client = async (): Promise<void> => {
    while (!isStopping) {
      const call = request(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          ...headersOf(credential),
        },
      });
      await Promise.all([answerOf(call), send(call, body)]);
    }
  };
  const running = Array.from({ length: connections }, client);
  return {
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
      agent.destroy();
    },
  };
}

/** Resolves when an answer is complete or can no longer come. */
async function answerOf(call: ClientRequest): Promise<void> {
  try {
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    await once(answer.resume(), 'close');
  } catch {
    // an answer that breaks off also counts
  }
}

async function send(call: ClientRequest, body: Buffer): Promise<void> {
  const closed = new Promise<void>((resolve) => call.once('close', resolve));
  // a connection that breaks while sending is closed anyway
  call.on('error', () => undefined);
  for (let at = 0; at < body.length && !call.destroyed; at += PIECE_BYTES) {
    if (at > 0) {
      await pause(PIECE_EVERY_MS);
    }
    if (!call.write(body.subarray(at, at + PIECE_BYTES))) {
      await Promise.race([new Promise<void>((resolve) => call.once('drain', resolve)), closed]);
    }
  }
  call.end();
}

/** Returns a body of 9.9 MB, the largest structure allowed. */
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

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
  /** A key; else none at all, or one of a right form at each call that nobody was given. */
  readonly credential: { readonly key: string } | 'none' | 'unknown';
  readonly isHeavy: boolean;
}

const LIGHT = Buffer.from('{"model":"x","messages":[{"role":"user","content":"x"}]}');
/** 13 MB/s for each connection, so that ten of them fill a line of 1 Gbit/s: the loopback address has no bound. */
const PIECE_BYTES = 64 * 1024;
const PIECE_EVERY_MS = 5;

/** So many connections that send a call as soon as the last one was answered, whatever the answer. */
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

/** Resolves when an answer has come to its end, or none will. */
async function answerOf(call: ClientRequest): Promise<void> {
  try {
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    await once(answer.resume(), 'close');
  } catch {
    // an answer that breaks off is one, too
  }
}

async function send(call: ClientRequest, body: Buffer): Promise<void> {
  const closed = new Promise<void>((resolve) => call.once('close', resolve));
  // a connection that breaks under what is sent closes, too
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

import { Agent, request } from 'undici';
import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { CHAT_MODEL, type ChaosAccount, type ChaosStack, startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const TOKENS = 60;
const TOKEN_MS = 40;
const AT_ONCE = 25;
const ABORTED_WITHIN_MS = 1_000;

interface Departure {
  readonly name: string;
  /** Tokens received when the client disconnected. */
  readonly delivered: number;
  readonly leftAt: number;
  /** Whether the stream was already complete. */
  readonly isComplete: boolean;
}

export const leavingClients: ChaosScenario = {
  id: 'D1',
  fault: 'clients disconnect at a random byte of their streams',
  asked: 'charge = delivered tokens ± 1, upstream aborted ≤ 1 s, no hold left open',
  inShortForm: false,
  async run(services) {
    const streams = 500;
    services.upstream.reset({ words: words(TOKENS), tokenDelayMs: TOKEN_MS });
    const stack = await startStack(services, { apis: 1 });
    const account = await stack.openAccount('1000');
    const departures: Departure[] = [];
    let number = 0;
    const client = async () => {
      while (number < streams) {
        number += 1;
        departures.push(await leaveEarly(stack, account, `departure ${number}`));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    await pause(ABORTED_WITHIN_MS);
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const charged = await queryOwner<{ request_id: string; output_tokens: number }>(
      stack.database.ownerUrl,
      'SELECT request_id, output_tokens FROM generations',
    );
    await stack.stop();
    const tokensOf = new Map(charged.map((row) => [row.request_id, row.output_tokens]));
    const early = departures.filter(({ isComplete }) => !isComplete);
    const wrong = early.filter(
      ({ name, delivered }) => Math.abs((tokensOf.get(toRequestId(name)) ?? 0) - delivered) > 1,
    );
    const abortedAt = new Map(
      services.upstream.requests.map(({ body, abortedAt: at }) => [String(body.messages[0].content), at]),
    );
    const delays = early.flatMap(({ name, leftAt }) => {
      const at = abortedAt.get(name);
      // a client that left before the upstream was called has nothing to abort
      return abortedAt.has(name) ? [(at ?? Number.POSITIVE_INFINITY) - leftAt] : [];
    });
    const slowest = Math.max(0, ...delays);
    return {
      measured: `${early.length} disconnected early; ${wrong.length} charged for other than the delivered tokens ± 1; upstream aborted after at most ${slowest} ms`,
      failures: [
        ...(early.length < streams / 2 ? [`inconclusive: only ${early.length} left early`] : []),
        ...wrong
          .slice(0, 3)
          .map(
            ({ name, delivered }) =>
              `${name}: ${delivered} delivered, ${tokensOf.get(toRequestId(name))} charged`,
          ),
        ...(wrong.length > 3 ? [`${wrong.length} charges off by more than a token`] : []),
        ...(slowest > ABORTED_WITHIN_MS ? [`an upstream call went on for ${slowest} ms`] : []),
        ...books,
      ],
    };
  },
};

/** Reads a stream up to a random byte, then breaks the connection. */
async function leaveEarly(stack: ChaosStack, { key }: ChaosAccount, name: string): Promise<Departure> {
  const dispatcher = new Agent({ connections: 1 });
  const bytesMax = Math.floor(Math.random() * TOKENS * FRAME_BYTES);
  let text = '';
  try {
    const answer = await request(`${stack.urls[0]}/api/v1/chat/completions`, {
      method: 'POST',
      dispatcher,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-request-id': toRequestId(name),
      },
      body: JSON.stringify({ model: CHAT_MODEL, messages: [{ role: 'user', content: name }], stream: true }),
    });
    for await (const part of answer.body) {
      text += String(part);
      if (text.length >= bytesMax) {
        break;
      }
    }
  } finally {
    void dispatcher.destroy();
  }
  const delivered = text.match(/"content":" ?word"/g)?.length ?? 0;
  return { name, delivered, leftAt: Date.now(), isComplete: text.includes('data: [DONE]') };
}

/** Approximate size of a token's frame. */
const FRAME_BYTES = 200;

function toRequestId(name: string): string {
  return name.replace(' ', '-');
}

import { auditBooks, auditCalls } from '../audit.ts';
import { sendBurst } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { type ChaosStack, startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';
import { holdOfOneCall, usd } from './c1-exact-balance.ts';

const ADMITTED = 7;
const CALLS = 250;

export const loweredLimit: ChaosScenario = {
  id: 'C2',
  fault: `a key limit for exactly ${ADMITTED} calls on a rich account, ${CALLS} at once, lowered while they run, ${CALLS} more`,
  asked: `exactly ${ADMITTED} admitted, then none`,
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(20), tokenDelayMs: 300 });
    const stack = await startStack(services, { apis: 3 });
    const [first, log, later] = [new OutcomeLog(), new OutcomeLog(), new OutcomeLog()];
    const amount = await holdOfOneCall(stack, first);
    const owner = await stack.openAccount('1000');
    const limited = await createKey(stack, owner.key, usd(amount * BigInt(ADMITTED)));
    const calls = { urls: () => stack.urls, accounts: [{ key: limited.key }], streamShare: 0 };
    const running = sendBurst({ ...calls, log }, CALLS);
    await pause(2_000);
    await changeKey(stack, owner.key, limited.hash, { limit: Number(usd(amount * 3n)) });
    await sendBurst({ ...calls, log: later }, CALLS);
    await running;
    const books = await auditBooks(stack.database.ownerUrl, 2_000);
    const all = [...first.calls, ...log.calls, ...later.calls];
    const { wrong } = await auditCalls(stack.database.ownerUrl, all);
    await stack.stop();
    const refused = [...log.calls, ...later.calls].filter(({ code }) => code === 'key_limit_exceeded').length;
    return {
      measured: `${log.answered} admitted under the first limit, ${later.answered} after it was lowered; ${refused} rejected because of the limit`,
      failures: [
        ...(log.answered === ADMITTED ? [] : [`${log.answered} admitted: ${JSON.stringify(log.troubles)}`]),
        ...(later.answered === 0 ? [] : [`${later.answered} admitted above the lowered limit`]),
        ...wrong,
        ...books,
      ],
    };
  },
};

/** Creates a key of the account with a spending limit in USD. */
export async function createKey(
  stack: ChaosStack,
  ownerKey: string,
  limit: string,
): Promise<{ readonly key: string; readonly hash: string }> {
  const { key, data } = await ask<{ key: string; data: { hash: string } }>(stack, ownerKey, 'POST', '', {
    name: 'limited',
    limit: Number(limit),
  });
  return { key, hash: data.hash };
}

/** Changes a key as its owner; resolves when the change is committed. */
export async function changeKey(
  stack: ChaosStack,
  ownerKey: string,
  hash: string,
  change: object,
): Promise<void> {
  await ask(stack, ownerKey, 'PATCH', `/${hash}`, change);
}

async function ask<T>(
  stack: ChaosStack,
  ownerKey: string,
  method: string,
  path: string,
  body: object,
): Promise<T> {
  const response = await fetch(`${stack.urls[0]}/api/v1/keys${path}`, {
    method,
    headers: { authorization: `Bearer ${ownerKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
  return (await response.json()) as T;
}

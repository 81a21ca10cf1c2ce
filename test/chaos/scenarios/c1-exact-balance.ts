import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { sendBurst } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { type ChaosStack, startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const ADMITTED = 7;
const CALLS = 500;

export const exactBalance: ChaosScenario = {
  id: 'C1',
  fault: `a balance for exactly ${ADMITTED} calls, ${CALLS} at once on 3 API processes`,
  asked: `exactly ${ADMITTED} admitted, available never below 0`,
  inShortForm: false,
  async run(services) {
    // long enough that no call settles before all of them are admitted or rejected
    services.upstream.reset({ words: words(20), tokenDelayMs: 250 });
    const stack = await startStack(services, { apis: 3 });
    const log = new OutcomeLog();
    const amount = await holdOfOneCall(stack, log);
    const account = await stack.openAccount(usd(amount * BigInt(ADMITTED)));
    await sendBurst({ urls: () => stack.urls, accounts: [account], log, streamShare: 0 }, CALLS);
    const books = await auditBooks(stack.database.ownerUrl, 2_000);
    const { wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    const [lowest] = await queryOwner<{ posted: string }>(
      stack.database.ownerUrl,
      'SELECT min(balance_after) AS posted FROM ledger_entries',
    );
    await stack.stop();
    const refused = log.count(({ code }) => code === 'insufficient_credits');
    const admitted = log.answered - 1;
    return {
      measured: `${admitted} admitted, ${refused} rejected for lack of credits; the lowest balance was ${lowest?.posted} nano-USD`,
      failures: [
        ...(admitted === ADMITTED ? [] : [`${admitted} were admitted`]),
        ...(refused === CALLS - ADMITTED ? [] : [JSON.stringify(log.troubles)]),
        ...wrong,
        ...books,
      ],
    };
  },
};

/** Returns the hold for one call of the load client, in nano-USD. The call is recorded in the log. */
export async function holdOfOneCall(stack: ChaosStack, log: OutcomeLog): Promise<bigint> {
  const account = await stack.openAccount('100');
  await sendBurst({ urls: () => stack.urls, accounts: [account], log, streamShare: 0 }, 1);
  const [row] = await queryOwner<{ hold_amount: string }>(
    stack.database.ownerUrl,
    'SELECT hold_amount FROM generations ORDER BY created_at DESC LIMIT 1',
  );
  if (row === undefined) {
    throw new Error(`the first call failed: ${JSON.stringify(log.troubles)}`);
  }
  return BigInt(row.hold_amount);
}

/** Formats nano-USD as the decimal USD that the API takes. */
export function usd(nano: bigint): string {
  return `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`;
}

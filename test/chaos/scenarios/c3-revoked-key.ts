import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';
import { changeKey, createKey } from './c2-lowered-limit.ts';

export const revokedKey: ChaosScenario = {
  id: 'C3',
  fault: 'a key is revoked under 150 calls/s on 3 API processes',
  asked: '0 holds made after the change was committed',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(5), tokenDelayMs: 5 });
    const stack = await startStack(services, { apis: 3 });
    const owner = await stack.openAccount('1000');
    const key = await createKey(stack, owner.key, '900');
    const log = new OutcomeLog();
    const calls = { urls: () => stack.urls, accounts: [key], streamShare: 0.5 };
    const load = startLoad({ ...calls, log, perSecond: 150 });
    await pause(3_000);
    await changeKey(stack, owner.key, key.hash, { disabled: true });
    const [clock] = await queryOwner<{ now: string }>(
      stack.database.ownerUrl,
      'SELECT clock_timestamp()::text AS now',
    );
    await pause(3_000);
    await load.stop();
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    const [after] = await queryOwner<{ made: number }>(
      stack.database.ownerUrl,
      'SELECT count(*)::integer AS made FROM generations WHERE created_at > $1::timestamptz',
      [clock?.now],
    );
    await stack.stop();
    const refused = log.count(({ code }) => code === 'key_disabled');
    return {
      measured: `${told} calls before, ${refused} rejected; ${after?.made} holds made after the commit`,
      failures: [
        ...(after?.made === 0 ? [] : [`${after?.made} holds made with the revoked key`]),
        ...(refused < 100 || told < 100 ? [`inconclusive: ${told} answered, ${refused} refused`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

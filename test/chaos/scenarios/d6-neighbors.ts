import { randomBytes } from 'node:crypto';
import { auditBooks, auditCalls } from '../audit.ts';
import { startFlood } from '../flooding-process.ts';
import { ignoreDisk } from '../ignored-disk.ts';
import {
  type CallOptions,
  type RunningLoad,
  runLoad,
  saturate,
  sendBurst,
  startLoad,
} from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import { pinProcesses } from '../processor-affinity.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const SERVED_MIN = 0.99;
/** Maximum factor by which neighbors may lengthen the p99 of a call. */
const SLOWER_MAX = 2;
/** Shorter than the answer of any hosted model, but longer than the machine's own variations. */
const ANSWER = { words: 5, tokenDelayMs: 100 };
/** Concurrent calls that keep the process busy while each waits this long for the provider. */
const SATURATING = 1_024;
/** The same for expensive calls, of which the process can carry fewer. */
const SATURATING_DEAR = 256;
const FACTOR = 5;
/** Minimum offered load, as a multiple of the capacity: the sender shares its processor with the customer's client. */
const FACTOR_MIN = 4.5;
/** More words than the token counter caches: such prompts cost the product far more than the sender. */
const DEAR_PROMPTS = 64;
const DEAR_WORDS = 2_000;
const STRANGERS = 150;
const POISON = 'poison';

interface Attack {
  readonly name: string;
  /** Log of what it sends, when that must be a multiple of the capacity. */
  readonly sent?: OutcomeLog;
  start(): RunningLoad | Promise<RunningLoad>;
}

export const neighbours: ChaosScenario = {
  id: 'D6',
  fault:
    'beside a customer at 10 calls/s to a model that answers in 0.5 s: strangers, bursts, floods, heavy bodies, calls that make the provider fail; commits do not wait for the disk',
  asked:
    'the customer is served ≥ 99 %, p99 ≤ 2 × calm, whatever the neighbor does; 1,000 at once on a fresh process all served',
  inShortForm: false,
  async run(services, { isShort }) {
    const phaseMs = isShort ? 5_000 : 20_000;
    const isPoisoned = ({ body }: { body: unknown }) => JSON.stringify(body).includes(POISON);
    const script = { words: words(ANSWER.words), tokenDelayMs: ANSWER.tokenDelayMs, faultOf: isPoisoned };
    services.upstream.reset(script);
    const stack = await startStack(services, { apis: 1, prepareDatabase: ignoreDisk });
    const [victim, neighbour, poor] = (await Promise.all(
      ['1000', '100000', '0'].map((credits) => stack.openAccount(credits)),
    )) as [Key, Key, Key];
    const product = [services.postgresPid(), ...stack.apis.map(({ pid }) => pid)];
    const isPinned = (await pinProcesses(product, '0')) && (await pinProcesses([process.pid], '1'));
    const target = { urls: () => stack.urls, streamShare: 0, timeoutMs: 30_000 };
    const logs: OutcomeLog[] = [];
    const newLog = () => logs[logs.push(new OutcomeLog()) - 1]!;
    const fresh = newLog();
    await sendBurst({ ...target, accounts: [neighbour], log: fresh }, 1_000);
    const carried = async (clients: number, asked?: CallOptions['prompts']): Promise<number> => {
      const log = newLog();
      const asking = asked && { prompts: asked };
      await saturate({ ...target, ...asking, accounts: [neighbour], log }, clients, phaseMs);
      return log.answered / (phaseMs / 1_000);
    };
    const peak = await carried(SATURATING);
    const prompts = dearPrompts();
    const dearPeak = await carried(SATURATING_DEAR, prompts);
    const served = async (): Promise<OutcomeLog> => {
      const log = newLog();
      await runLoad({ ...target, accounts: [victim], perSecond: 10, log }, phaseMs);
      return log;
    };
    const calm = await served();
    const provoking = (fault: 'server_error' | 'rate_limit' | 'hang_before_headers'): Attack => ({
      name: fault,
      start() {
        services.upstream.reset({ ...script, fault, retryAfter: '60' });
        return startLoad({
          ...target,
          accounts: [neighbour],
          perSecond: 20,
          prompts: [POISON],
          log: newLog(),
        });
      },
    });
    const url = stack.urls[0]!;
    const flood = newLog();
    const strangers = (credential: 'none' | 'unknown') =>
      startFlood({ url, connections: STRANGERS, credential, isHeavy: false }, newLog());
    const heavy = (credential: Key) =>
      startFlood({ url, connections: 10, credential, isHeavy: true }, newLog());
    const attacks: Attack[] = [
      provoking('server_error'),
      provoking('rate_limit'),
      provoking('hang_before_headers'),
      { name: `${STRANGERS} without a key`, start: () => strangers('none') },
      { name: `${STRANGERS} with wrong keys`, start: () => strangers('unknown') },
      { name: 'ten heavy bodies', start: () => heavy(neighbour) },
      { name: 'ten heavy bodies without credits', start: () => heavy(poor) },
      {
        name: 'five times the capacity',
        sent: flood,
        start: () => {
          const order = { urls: stack.urls, key: neighbour.key, prompts, timeoutMs: 30_000 };
          return startFlood({ ...order, perSecond: FACTOR * dearPeak }, flood);
        },
      },
      { name: 'a burst of 2,000', start: () => burst({ ...target, accounts: [neighbour], log: newLog() }) },
    ];
    let flooded = 0;
    const failures: string[] = [];
    const measured = [`calm p99 ${calm.latencyMs(0.99).toFixed(0)} ms`];
    const slowestMs = SLOWER_MAX * calm.latencyMs(0.99);
    for (const attack of attacks) {
      const load = await attack.start();
      await pause(500);
      const from = Date.now();
      const log = await served();
      const until = Date.now();
      await load.stop();
      if (attack.sent) {
        flooded = rateIn(attack.sent, from, until);
      }
      services.upstream.reset(script);
      const p99 = log.latencyMs(0.99);
      measured.push(`${attack.name}: ${percent(log.successShare)}, ${p99.toFixed(0)} ms`);
      if (log.successShare < SERVED_MIN || p99 > slowestMs) {
        failures.push(`${attack.name}: ${percent(log.successShare)} served, p99 ${p99.toFixed(0)} ms`);
      }
      await pause(1_000);
    }
    const after = newLog();
    await sendBurst({ ...target, accounts: [neighbour], log: after }, 300);
    await pinProcesses([services.postgresPid(), process.pid], 'all');
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const { wrong } = await auditCalls(
      stack.database.ownerUrl,
      logs.flatMap(({ calls }) => calls),
    );
    await stack.stop();
    return {
      measured: `1,000 at once: ${percent(fresh.successShare)}; 300 at once a second after a burst: ${percent(after.successShare)}; peak ${peak.toFixed(0)}/s, of expensive calls ${dearPeak.toFixed(0)}/s, flooded with ${flooded.toFixed(0)}/s of these; beside ${measured.join('; ')}${isPinned ? '' : ' (not pinned to processors)'}`,
      failures: [
        ...failures,
        ...(fresh.successShare < 1 ? [`1,000 at once: ${JSON.stringify(fresh.troubles)}`] : []),
        ...(flooded < FACTOR_MIN * dearPeak
          ? [`inconclusive: only ${(flooded / dearPeak).toFixed(1)} times the capacity was sent`]
          : []),
        ...(after.successShare < 0.95 ? [`300 after a burst: ${JSON.stringify(after.troubles)}`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

interface Key {
  readonly id: string;
  readonly key: string;
}

function dearPrompts(): [string, ...string[]] {
  const word = () => String.fromCharCode(...randomBytes(9).map((byte) => 97 + (byte % 26)));
  const prompt = () => Array.from({ length: DEAR_WORDS }, word).join(' ');
  return [prompt(), ...Array.from({ length: DEAR_PROMPTS - 1 }, prompt)];
}

function burst(options: Parameters<typeof sendBurst>[0]): RunningLoad {
  const sent = sendBurst(options, 2_000);
  return { stop: () => sent };
}

/** Returns the calls per second that were answered or rejected between two times. */
function rateIn({ calls }: OutcomeLog, from: number, until: number): number {
  const ended = calls.filter(({ endedAt }) => endedAt >= from && endedAt < until);
  return ended.length / ((until - from) / 1_000);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

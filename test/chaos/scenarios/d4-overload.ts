import { monitorEventLoopDelay } from 'node:perf_hooks';
import { median } from '../../../bench/soak/slope.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad, saturate, startLoad } from '../load-client.ts';
import { type CallOutcome, OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import { pinProcesses, whileBusy } from '../processor-affinity.ts';
import type { ChaosEffort, ChaosFinding, ChaosScenario } from '../scenario.types.ts';
import type { ChaosServices } from '../services.ts';
import { startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const PRODUCT_PROCESSOR = '0';
const CLIENT_PROCESSOR = '1';
const FACTOR = 3;
/**
 * Minimum offered load, as a multiple of the capacity before and after the overload: the machine's speed may have changed since the load
 * was planned.
 */
const FACTOR_MIN = 2.5;
const GOODPUT_SHARE_MIN = 0.95;
/** Maximum share by which the account with the fewest answers may fall short of the one with the most. */
const UNFAIRNESS_MAX = 0.1;
const RECOVERY_MS_MAX = 5_000;
const ACCOUNTS = 20;
const CLIENTS = 128;
/** Connections of all clients together. */
const CONNECTIONS = 4_000;
/** About 10,000 tokens: such a call costs the product far more work than the sender, which must not be overloaded itself. */
const PROMPT = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(700);
/** A client that sends later than this, in ms, makes the measurement invalid. */
const CLIENT_LATE_MS_MAX = 500;
/** Client timeout, in ms. */
const PATIENCE_MS = 10_000;

export const overload: ChaosScenario = {
  id: 'D4',
  fault: `${FACTOR} times the calls that one API process can carry`,
  asked:
    'goodput ≥ 95 % of the peak, shares of equal accounts within 10 %, all others 429/503 with Retry-After, recovery ≤ 5 s',
  inShortForm: false,
  run: (services, effort) => whileBusy(CLIENT_PROCESSOR, () => overloadAndMeasure(services, effort)),
};

async function overloadAndMeasure(services: ChaosServices, { isShort }: ChaosEffort): Promise<ChaosFinding> {
  const [peakMs, overloadMs, rounds] = isShort ? [5_000, 10_000, 1] : [10_000, 20_000, 3];
  services.upstream.reset({ words: words(10), tokenDelayMs: 1 });
  const stack = await startStack(services, { apis: 1 });
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stack.openAccount('1000')));
  // pin the product and the load client to different processors, as if they were two machines
  const product = [services.postgresPid(), ...stack.apis.map(({ pid }) => pid)];
  const isPinned =
    (await pinProcesses(product, PRODUCT_PROCESSOR)) && (await pinProcesses([process.pid], CLIENT_PROCESSOR));
  const target = {
    urls: () => stack.urls,
    accounts,
    streamShare: 0,
    timeoutMs: PATIENCE_MS,
    prompts: [PROMPT] as const,
  };
  const [calm, during, recovering] = [new OutcomeLog(), new OutcomeLog(), new OutcomeLog()];
  const carried = async (milliseconds: number): Promise<number> => {
    forgetRequests(services);
    const before = calm.calls.length;
    const endsAt = Date.now() + milliseconds;
    await saturate({ ...target, log: calm }, CLIENTS, milliseconds);
    return answeredBy(calm.calls.slice(before), endsAt) / (milliseconds / 1_000);
  };
  await carried(2 * peakMs);
  const lateness = monitorEventLoopDelay();
  const peaks = [await carried(peakMs)];
  const answered: number[] = [];
  const offered: number[] = [];
  let overAt = 0;
  for (let round = 1; round <= rounds; round += 1) {
    forgetRequests(services);
    await pause(500);
    lateness.enable();
    const before = during.calls.length;
    const perSecond = peaks.at(-1)! * FACTOR;
    const load = startLoad({ ...target, log: during, perSecond, connections: CONNECTIONS });
    await pause(overloadMs);
    overAt = Date.now();
    lateness.disable();
    // calls that arrive after the overload, while those that arrived during it are still being answered
    const next = { ...target, log: recovering, perSecond: peaks.at(-1)! / 3 };
    await Promise.all([load.stop(), round === rounds ? runLoad(next, RECOVERY_MS_MAX + 3_000) : undefined]);
    const calls = during.calls.slice(before);
    answered.push(answeredBy(calls, overAt) / (overloadMs / 1_000));
    offered.push(calls.length / (overloadMs / 1_000));
    peaks.push(await carried(peakMs));
  }
  await pinProcesses([services.postgresPid(), process.pid], 'all');
  const books = await auditBooks(stack.database.ownerUrl, 5_000);
  const { wrong } = await auditCalls(
    stack.database.ownerUrl,
    [calm, during, recovering].flatMap(({ calls }) => calls),
  );
  await stack.stop();
  // the machine's own speed varies: compare each overload with the capacity measured before and after it
  const around = answered.map((_, round) => (peaks[round]! + peaks[round + 1]!) / 2);
  const goodput = answered.map((rate, round) => rate / around[round]!);
  const share = median(goodput);
  const factor = Math.min(...offered.map((rate, round) => rate / around[round]!));
  const shares = accounts.map((_, place) =>
    during.count(({ account, outcome }) => account === place && outcome === 'answered'),
  );
  const unfairness = 1 - Math.min(...shares) / Math.max(...shares);
  const improper = during.count(isImproper);
  const clientLateMs = lateness.percentile(99) / 1e6;
  const recoveryMs = Math.max(
    0,
    ...recovering.calls
      .filter(({ outcome }) => outcome !== 'answered')
      .map(({ endedAt }) => endedAt - overAt),
  );
  return {
    measured: `peak ${each(peaks)}/s, p99 ${calm.latencyMs(0.99).toFixed(0)} ms; ${rounds} overloads of ${overloadMs / 1_000} s at ${factor.toFixed(1)} times the peak before and after: ${each(answered)}/s answered (${each(goodput.map((one) => one * 100))} %), shares of the ${ACCOUNTS} accounts within ${(unfairness * 100).toFixed(0)} %, p99 ${during.latencyMs(0.99).toFixed(0)} ms, the client itself late by ${clientLateMs.toFixed(0)} ms at p99, the others ${JSON.stringify(during.troubles)}; recovered after ${(recoveryMs / 1_000).toFixed(1)} s${isPinned ? '' : ' (not pinned to processors)'}`,
    failures: [
      ...(share < GOODPUT_SHARE_MIN ? [`goodput ${(share * 100).toFixed(0)} % of the peak`] : []),
      ...(during.count(({ outcome }) => outcome === 'refused') < during.calls.length / 10
        ? ['hardly anything was rejected: there was no overload']
        : []),
      ...(unfairness > UNFAIRNESS_MAX
        ? [`an account got ${(unfairness * 100).toFixed(0)} % less than another`]
        : []),
      ...(factor < FACTOR_MIN ? [`inconclusive: only ${factor.toFixed(1)} times the peak was offered`] : []),
      ...(clientLateMs > CLIENT_LATE_MS_MAX ? ['inconclusive: the client itself could not keep up'] : []),
      ...(improper > 0 ? [`${improper} calls without 429/503 and Retry-After`] : []),
      ...(recoveryMs > RECOVERY_MS_MAX ? [`recovery took ${recoveryMs} ms`] : []),
      ...wrong,
      ...books,
    ],
  };
}

/** The simulated provider keeps every prompt it gets: gigabytes in the process that also sends the load. */
function forgetRequests({ upstream }: ChaosServices): void {
  upstream.requests.length = 0;
}

function answeredBy(calls: readonly CallOutcome[], endsAt: number): number {
  return calls.filter(({ outcome, endedAt }) => outcome === 'answered' && endedAt <= endsAt).length;
}

function each(values: readonly number[]): string {
  return values.map((value) => value.toFixed(0)).join(', ');
}

function isImproper({ outcome, status, hasRetryAfter }: CallOutcome): boolean {
  return outcome === 'broken' || (outcome === 'refused' && !([429, 503].includes(status) && hasRetryAfter));
}

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad, saturate, startLoad } from '../load-client.ts';
import { pause } from '../pause.ts';
import { pinProcesses } from '../processor-affinity.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { type Told, ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

const FACTOR = 3;
/** What must be offered of what the machine carries on both sides of the overload, whose speed may have changed since it was planned. */
const FACTOR_MIN = 2.5;
const GOODPUT_SHARE_MIN = 0.8;
const RECOVERY_MS_MAX = 5_000;
const CLIENTS = 128;
/** Connections of all clients together. */
const CONNECTIONS = 4_000;
/** About 10,000 tokens: a call that costs the product far more work than the one who sends it, who must not be the one that is overloaded. */
const PROMPT = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(700);
/** A client that is this late itself, in ms, measures nothing. */
const CLIENT_LATE_MS_MAX = 500;
/** A client that waits longer than this has gone. */
const PATIENCE_MS = 10_000;

export const overload: ChaosScenario = {
  id: 'D4',
  fault: `${FACTOR} times the calls that one API process can carry`,
  asked: 'goodput ≥ 80 % of the peak, all others 429/503 with Retry-After, recovery ≤ 5 s',
  inShortForm: false,
  async run(services, { isShort }) {
    const [peakMs, overloadMs] = isShort ? [5_000, 10_000] : [20_000, 60_000];
    services.upstream.reset({ words: words(10), tokenDelayMs: 1 });
    const stack = await startStack(services, { apis: 1 });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    // what is loaded and what loads must not take the processor from each other: they would be two machines
    const product = [services.postgresPid(), ...stack.apis.map(({ pid }) => pid)];
    const isPinned = (await pinProcesses(product, '0')) && (await pinProcesses([process.pid], '1'));
    const target = {
      urls: () => stack.urls,
      accounts,
      streamShare: 0,
      timeoutMs: PATIENCE_MS,
      prompt: PROMPT,
    };
    const [warmUp, before, during] = [new ToldLog(), new ToldLog(), new ToldLog()];
    const [recovering, after] = [new ToldLog(), new ToldLog()];
    const carried = async (log: ToldLog) => {
      const endsAt = Date.now() + peakMs;
      await saturate({ ...target, log }, CLIENTS, peakMs);
      return answeredBy(log, endsAt) / (peakMs / 1_000);
    };
    await carried(warmUp);
    const peakBefore = await carried(before);
    await pause(500);
    const lateness = monitorEventLoopDelay();
    lateness.enable();
    const load = { ...target, log: during, perSecond: peakBefore * FACTOR, connections: CONNECTIONS };
    const overload = startLoad(load);
    await pause(overloadMs);
    const overAt = Date.now();
    lateness.disable();
    // those who come after it, while the ones who came during it are still being answered
    const next = { ...target, log: recovering, perSecond: peakBefore / 3 };
    await Promise.all([overload.stop(), runLoad(next, RECOVERY_MS_MAX + 3_000)]);
    const peakAfter = await carried(after);
    await pinProcesses([services.postgresPid(), process.pid], 'all');
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const { wrong } = await auditCalls(
      stack.database.ownerUrl,
      [warmUp, before, during, recovering, after].flatMap(({ calls }) => calls),
    );
    await stack.stop();
    // a machine's own speed comes and goes: what was carried in the overload is held against what was on both sides of it
    const peak = (peakBefore + peakAfter) / 2;
    const share = answeredBy(during, overAt) / (overloadMs / 1_000) / peak;
    const offered = during.calls.length / (overloadMs / 1_000) / peak;
    const improper = during.count(isImproper);
    const clientLateMs = lateness.percentile(99) / 1e6;
    const recoveryMs = Math.max(
      0,
      ...recovering.calls
        .filter(({ outcome }) => outcome !== 'answered')
        .map(({ endedAt }) => endedAt - overAt),
    );
    return {
      measured: `peak ${peakBefore.toFixed(0)}/s before and ${peakAfter.toFixed(0)}/s after, p99 ${before.latencyMs(0.99).toFixed(0)} ms; offered ${offered.toFixed(1)} times as much for ${overloadMs / 1_000} s: ${(share * peak).toFixed(0)}/s answered (${(share * 100).toFixed(0)} %), p99 ${during.latencyMs(0.99).toFixed(0)} ms, the client itself late by ${clientLateMs.toFixed(0)} ms at p99, the others ${JSON.stringify(during.troubles)}; recovered after ${(recoveryMs / 1_000).toFixed(1)} s${isPinned ? '' : ' (not pinned to processors)'}`,
      failures: [
        ...(share < GOODPUT_SHARE_MIN ? [`goodput ${(share * 100).toFixed(0)} % of the peak`] : []),
        ...(during.count(({ outcome }) => outcome === 'refused') < during.calls.length / 10
          ? ['hardly anything was refused: there was no overload']
          : []),
        ...(offered < FACTOR_MIN ? [`only ${offered.toFixed(1)} times the peak was offered: no proof`] : []),
        ...(clientLateMs > CLIENT_LATE_MS_MAX ? ['the client itself could not keep up: no proof'] : []),
        ...(improper > 0 ? [`${improper} calls without 429/503 and Retry-After`] : []),
        ...(recoveryMs > RECOVERY_MS_MAX ? [`recovery took ${recoveryMs} ms`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

function answeredBy(log: ToldLog, endsAt: number): number {
  return log.count(({ outcome, endedAt }) => outcome === 'answered' && endedAt <= endsAt);
}

function isImproper({ outcome, status, hasRetryAfter }: Told): boolean {
  return outcome === 'broken' || (outcome === 'refused' && !([429, 503].includes(status) && hasRetryAfter));
}

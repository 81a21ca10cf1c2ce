import { monitorEventLoopDelay } from 'node:perf_hooks';
import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad, saturate, startLoad } from '../load-client.ts';
import { pause } from '../pause.ts';
import { pinProcesses } from '../processor-affinity.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

const FACTOR = 3;
const GOODPUT_SHARE_MIN = 0.8;
/** The first moments of an overload, in ms, before it is noticed. */
const ONSET_MS = 3_000;
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
    const [peakMs, overloadMs] = isShort ? [5_000, 10_000] : [12_000, 60_000];
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
    const [warmUp, peakLog, log, after] = [new ToldLog(), new ToldLog(), new ToldLog(), new ToldLog()];
    await saturate({ ...target, log: warmUp }, CLIENTS, peakMs);
    await saturate({ ...target, log: peakLog }, CLIENTS, peakMs);
    const peak = peakLog.answered / (peakMs / 1_000);
    await pause(500);
    const lateness = monitorEventLoopDelay();
    lateness.enable();
    const overload = startLoad({ ...target, log, perSecond: peak * FACTOR, connections: CONNECTIONS });
    await pause(overloadMs);
    const overAt = Date.now();
    lateness.disable();
    const clientLateMs = lateness.percentile(99) / 1e6;
    // those who come after it, while the ones who came during it are still being answered
    const recovery = runLoad({ ...target, log: after, perSecond: peak / 3 }, RECOVERY_MS_MAX + 3_000);
    await Promise.all([overload.stop(), recovery]);
    await pinProcesses([services.postgresPid(), process.pid], 'all');
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const calls = [warmUp, peakLog, log, after].flatMap((each) => each.calls);
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    await stack.stop();
    const inTime = log.count(({ outcome, endedAt }) => outcome === 'answered' && endedAt <= overAt);
    const goodput = inTime / (overloadMs / 1_000);
    const improper = log.count(
      ({ outcome, status, hasRetryAfter }) =>
        outcome === 'broken' || (outcome === 'refused' && !([429, 503].includes(status) && hasRetryAfter)),
    );
    const firstAt = Math.min(...log.calls.map(({ endedAt, durationMs }) => endedAt - durationMs));
    const gaveUp = log.calls.filter(({ outcome }) => outcome === 'broken');
    const gaveUpEarly = gaveUp.filter(
      ({ endedAt, durationMs }) => endedAt - durationMs < firstAt + ONSET_MS,
    ).length;
    const troubled = after.calls.filter(({ outcome }) => outcome !== 'answered');
    const recoveryMs = Math.max(0, ...troubled.map(({ endedAt }) => endedAt - overAt));
    const share = goodput / peak;
    return {
      measured: `peak ${peak.toFixed(0)}/s, offered ${(log.calls.length / (overloadMs / 1_000)).toFixed(0)}/s for ${overloadMs / 1_000} s: ${goodput.toFixed(0)}/s answered (${(share * 100).toFixed(0)} %), p99 ${log.latencyMs(0.99).toFixed(0)} ms (at the peak ${peakLog.latencyMs(0.99).toFixed(0)} ms), the client itself late by ${clientLateMs.toFixed(0)} ms at p99, the others ${JSON.stringify(log.troubles)} (of ${gaveUp.length} that gave up, ${gaveUpEarly} had come in the first ${ONSET_MS / 1_000} s); recovered after ${(recoveryMs / 1_000).toFixed(1)} s${isPinned ? '' : ' (not pinned to processors)'}`,
      failures: [
        ...(share < GOODPUT_SHARE_MIN ? [`goodput ${(share * 100).toFixed(0)} % of the peak`] : []),
        ...(log.count(({ outcome }) => outcome === 'refused') < log.calls.length / 10
          ? ['hardly anything was refused: there was no overload']
          : []),
        ...(clientLateMs > CLIENT_LATE_MS_MAX ? ['the client itself could not keep up: no proof'] : []),
        ...(improper > 0 ? [`${improper} calls without 429/503 and Retry-After`] : []),
        ...(recoveryMs > RECOVERY_MS_MAX ? [`recovery took ${recoveryMs} ms`] : []),
        ...wrong,
        ...books,
      ],
    };
  },
};

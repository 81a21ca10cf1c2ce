import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { CHAT_MODEL, startStack } from '../stack.ts';
import { ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

const TRICKLERS = 500;
const SLOW_READERS = 200;
const DROPPED_WITHIN_MS = 15_000;
const GROWN_MAX_BYTES = 300 * 2 ** 20;
const ARRIVAL_MS = 4_000;
const P99_FACTOR_MAX = 1.5;

export const slowClients: ChaosScenario = {
  id: 'D5',
  fault: `${TRICKLERS} clients send their head a byte a second, ${SLOW_READERS} read nothing of their streams`,
  asked: 'p99 of the others ≤ 1.5 times, the first dropped ≤ 15 s, memory bounded',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(400), tokenDelayMs: 0 });
    const stack = await startStack(services, { apis: 1 });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const port = Number(new URL(stack.urls[0]!).port);
    const load = { urls: () => stack.urls, accounts, perSecond: 20, streamShare: 0 };
    const [before, arriving, during] = [new ToldLog(), new ToldLog(), new ToldLog()];
    await runLoad({ ...load, log: new ToldLog() }, 3_000);
    await runLoad({ ...load, log: before }, 8_000);
    const memoryBefore = residentBytes(stack.apis[0]!.pid);
    const tricklers = Array.from({ length: TRICKLERS }, () => trickle(port));
    const readers = Array.from({ length: SLOW_READERS }, (_, number) =>
      askAndNeverRead(port, accounts[number % accounts.length]!.key),
    );
    const startedAt = Date.now();
    // their coming is a burst of work like any other; what they do by being there is what counts
    await runLoad({ ...load, log: arriving }, ARRIVAL_MS);
    await runLoad({ ...load, log: during }, DROPPED_WITHIN_MS - ARRIVAL_MS);
    const dropped = tricklers.filter(({ endedAt }) => endedAt() !== undefined).length;
    const grown = residentBytes(stack.apis[0]!.pid) - memoryBefore;
    for (const { socket } of tricklers) {
      socket.destroy();
    }
    for (const socket of readers) {
      socket.destroy();
    }
    await pause(1_000);
    await expireHolds(stack.database.ownerUrl);
    const books = await auditBooks(stack.database.ownerUrl, 20_000);
    const calls = [...before.calls, ...arriving.calls, ...during.calls];
    const own = new Set(calls.map(({ requestId }) => requestId));
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    const foreign = wrong.filter((line) => own.has(line.split(' ')[0] ?? ''));
    await stack.stop();
    const factor = during.latencyMs(0.99) / Math.max(1, before.latencyMs(0.99));
    const slowest = Math.max(0, ...tricklers.map(({ endedAt }) => (endedAt() ?? startedAt) - startedAt));
    return {
      measured: `p99 ${during.latencyMs(0.99).toFixed(0)} ms, before ${before.latencyMs(0.99).toFixed(0)} ms; ${dropped} of ${TRICKLERS} dropped, the last after ${(slowest / 1_000).toFixed(1)} s; memory +${(grown / 2 ** 20).toFixed(0)} MiB`,
      failures: [
        ...(factor > P99_FACTOR_MAX ? [`p99 of the others is ${factor.toFixed(1)} times what it was`] : []),
        ...(dropped < TRICKLERS ? [`${TRICKLERS - dropped} were not dropped within 15 s`] : []),
        ...(grown > GROWN_MAX_BYTES ? [`memory grew by ${grown} bytes`] : []),
        ...(calls.every(({ outcome }) => outcome === 'answered') ? [] : [JSON.stringify(during.troubles)]),
        ...foreign,
        ...books,
      ],
    };
  },
};

/** Sends the head of a request one byte a second. */
function trickle(port: number): { readonly socket: Socket; readonly endedAt: () => number | undefined } {
  const socket = connect(port, '127.0.0.1');
  let endedAt: number | undefined;
  const bytes = 'POST /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Slow: and so on and so on';
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(bytes[sent % bytes.length]!);
    sent += 1;
  }, 1_000);
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    endedAt ??= Date.now();
  });
  return { socket, endedAt: () => endedAt };
}

/** Asks for a stream and leaves its answer in the network's buffers. */
function askAndNeverRead(port: number, key: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  const body = JSON.stringify({
    model: CHAT_MODEL,
    messages: [{ role: 'user', content: 'much' }],
    stream: true,
  });
  socket.write(
    [
      'POST /api/v1/chat/completions HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );
  return socket;
}

/** Memory of a process that is in RAM, in bytes. */
function residentBytes(pid: number): number {
  const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return Number(pages) * 4_096;
}

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { percentile } from '../../../bench/measure/clients.ts';
import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { ignoreDisk } from '../ignored-disk.ts';
import { type LoadOptions, runLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { CHAT_MODEL, type ChaosAccount, type ChaosStack, startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const TRICKLERS = 500;
const SLOW_READERS = 200;
/** Waves with and without slow clients alternate, so that a slow minute of the machine affects both. An odd number has a middle one. */
const WAVES = 5;
const DROPPED_WITHIN_MS = 15_000;
/** The arrival of the clients is an ordinary burst of work and is not measured; only their presence is. */
const ARRIVAL_MS = 4_000;
/** Spreads arrivals and bytes over time: clients that act in the same instant are covered by the row about overload. */
const BETWEEN_READERS_MS = 15;
const BETWEEN_TRICKLERS_MS = 6;
/** As long as the measured part of a wave. */
const CALM_MS = DROPPED_WITHIN_MS - ARRIVAL_MS;
/** Gives more than 500 calls in each wave and each calm, so that their p99 is the sixth worst. */
const CALLS_PER_SECOND = 50;
const GROWN_MAX_BYTES = 300 * 2 ** 20;
const P99_FACTOR_MAX = 1.5;

/** The result of a wave of slow clients, and of the calm before it. */
interface Wave {
  readonly calm: OutcomeLog;
  readonly arriving: OutcomeLog;
  readonly during: OutcomeLog;
  readonly dropped: number;
  /** How long the last trickling client stayed connected, in ms. */
  readonly lastDroppedMs: number;
  /** Memory of the process while the clients are connected, in bytes. */
  readonly memory: number;
}

interface Trickler {
  readonly socket: Socket;
  /** Time from connecting to being dropped, in ms; undefined while connected. */
  readonly livedMs: () => number | undefined;
}

export const slowClients: ChaosScenario = {
  id: 'D5',
  fault: `${TRICKLERS} clients send their request head one byte per second, ${SLOW_READERS} never read their streams; they arrive ${WAVES} times, with calm between; commits do not wait for the disk`,
  asked:
    'p99 of the others ≤ 1.5 times that of the calm (medians of the waves), slow senders dropped ≤ 15 s, memory bounded',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(400), tokenDelayMs: 0 });
    const stack = await startStack(services, { apis: 1, prepareDatabase: ignoreDisk });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const load = { urls: () => stack.urls, accounts, perSecond: CALLS_PER_SECOND, streamShare: 0 };
    await runLoad({ ...load, log: new OutcomeLog() }, 5_000);
    const memoryBefore = residentBytes(stack.apis[0]!.pid);
    const waves: Wave[] = [];
    for (let wave = 0; wave < WAVES; wave += 1) {
      const calm = new OutcomeLog();
      await runLoad({ ...load, log: calm }, CALM_MS);
      waves.push({ calm, ...(await sendWave(stack, accounts, load)) });
      await pause(1_000);
      await expireHolds(stack.database.ownerUrl);
    }
    const books = await auditBooks(stack.database.ownerUrl, 20_000);
    const logs = waves.flatMap(({ calm, arriving, during }) => [calm, arriving, during]);
    const calls = logs.flatMap((log) => log.calls);
    const own = new Set(calls.map(({ requestId }) => requestId));
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    const foreign = wrong.filter((line) => own.has(line.split(' ')[0] ?? ''));
    await stack.stop();
    const with99 = waves.map(({ during }) => during.latencyMs(0.99));
    const without99 = waves.map(({ calm }) => calm.latencyMs(0.99));
    // an effect of slow clients shows in every wave; a half-second stall of the machine shows in one
    const factor = middle(with99) / Math.max(1, middle(without99));
    const came = WAVES * TRICKLERS;
    const dropped = waves.reduce((sum, wave) => sum + wave.dropped, 0);
    const slowest = Math.max(...waves.map(({ lastDroppedMs }) => lastDroppedMs));
    const grown = Math.max(...waves.map(({ memory }) => memory)) - memoryBefore;
    return {
      measured: `p99 ${middle(with99).toFixed(0)} ms in the median wave (${whole(with99)}), ${middle(without99).toFixed(0)} ms in the median calm (${whole(without99)}); ${dropped} of ${came} dropped, the last after ${(slowest / 1_000).toFixed(1)} s; memory +${(grown / 2 ** 20).toFixed(0)} MiB`,
      failures: [
        ...(factor > P99_FACTOR_MAX ? [`p99 of the others is ${factor.toFixed(1)} times what it was`] : []),
        ...(dropped < came ? [`${came - dropped} were not dropped within 15 s`] : []),
        ...(grown > GROWN_MAX_BYTES ? [`memory grew by ${grown} bytes`] : []),
        ...(calls.every(({ outcome }) => outcome === 'answered')
          ? []
          : [JSON.stringify(logs.map(({ troubles }) => troubles))]),
        ...foreign,
        ...books,
      ],
    };
  },
};

function middle(values: readonly number[]): number {
  return percentile(
    [...values].sort((one, other) => one - other),
    0.5,
  );
}

function whole(values: readonly number[]): string {
  return values.map((value) => value.toFixed(0)).join(', ');
}

/** Connects slow clients that stay as long as they can, beside the load of the others. */
async function sendWave(
  stack: ChaosStack,
  accounts: readonly ChaosAccount[],
  load: Omit<LoadOptions, 'log'>,
): Promise<Omit<Wave, 'calm'>> {
  const [arriving, during] = [new OutcomeLog(), new OutcomeLog()];
  const port = Number(new URL(stack.urls[0]!).port);
  const [tricklers, readers] = await Promise.all([
    come(TRICKLERS, BETWEEN_TRICKLERS_MS, () => trickle(port)),
    come(SLOW_READERS, BETWEEN_READERS_MS, (number) =>
      askAndNeverRead(port, accounts[number % accounts.length]!.key),
    ),
    runLoad({ ...load, log: arriving }, ARRIVAL_MS),
  ]);
  await runLoad({ ...load, log: during }, DROPPED_WITHIN_MS - ARRIVAL_MS);
  const memory = residentBytes(stack.apis[0]!.pid);
  const lives = tricklers.flatMap(({ livedMs }) => livedMs() ?? []);
  for (const socket of [...tricklers.map((each) => each.socket), ...readers]) {
    socket.destroy();
  }
  return { arriving, during, memory, dropped: lives.length, lastDroppedMs: Math.max(0, ...lives) };
}

/** Starts `count` clients, one after the other. */
async function come<Client>(
  count: number,
  betweenMs: number,
  begin: (number: number) => Client,
): Promise<Client[]> {
  const clients: Client[] = [];
  for (let number = 0; number < count; number += 1) {
    clients.push(begin(number));
    await pause(betweenMs);
  }
  return clients;
}

/** Sends the head of a request one byte a second. */
function trickle(port: number): Trickler {
  const startedAt = Date.now();
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
  return { socket, livedMs: () => endedAt && endedAt - startedAt };
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

/** Returns the resident memory of a process, in bytes. */
function residentBytes(pid: number): number {
  const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return Number(pages) * 4_096;
}

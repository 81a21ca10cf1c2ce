import { randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { eventually } from '../../factories/eventually.ts';
import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { sendBurst, startClients } from '../load-client.ts';
import { isShed, OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import {
  caddy,
  envoy,
  haproxy,
  nginx,
  type ReverseProxy,
  type RunningProxy,
  traefik,
} from '../reverse-proxies.ts';
import type { ChaosFinding, ChaosScenario } from '../scenario.types.ts';
import type { ChaosServices } from '../services.ts';
import { CHAT_MODEL, type ChaosAccount, type ChaosStack, startStack } from '../stack.ts';
import { words } from '../upstream-words.ts';

const PROCESSES = 3;
/** All words of an answer, each written when the one before has arrived. */
const WORDS_WITHIN_MS = 20_000;
/** One word, from the provider through API and proxy to the client, at the median. */
const WORD_WITHIN_MS = 100;
const LEAVES_AFTER_MS = 1_000;
const ABORTED_WITHIN_MS = 2_000;
/** Calls in progress when a process is killed. */
const CAUGHT = 12;
/** Another address of this machine, so that the client's address differs from the proxy's. Envoy passes on no loopback address. */
const CLIENT_ADDRESS =
  Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address ?? '127.0.0.2';
/** A long answer that no client waits for: number of words, and the pause between two in ms. */
const LONG_ANSWER = { words: 80, tokenDelayMs: 100 };
const ANSWER = { words: 20, tokenDelayMs: 50 };
/** Clients that call during the restarts, each waiting for its answer. */
const CLIENTS = 12;

/** What is behind the proxy, and who calls through it. */
interface Bench {
  readonly services: ChaosServices;
  readonly stack: ChaosStack;
  readonly proxy: RunningProxy;
  readonly account: ChaosAccount;
  /** Every call that is compared with the books. */
  readonly log: OutcomeLog;
}

/** Returns what a check saw, and its failures. */
type Check = (bench: Bench) => Promise<{ readonly saw: string; readonly failures: readonly string[] }>;

/** Each word of a stream arrives before the next one is written, and soon after it was written itself. */
const streams: Check = async ({ services, proxy, account }) => {
  const writtenAt: number[] = [];
  const delays: number[] = [];
  let isHeldBack = false;
  let goOn: () => void = () => undefined;
  services.upstream.reset({
    words: words(ANSWER.words),
    gate: async (_request, frame) => {
      while (delays.length < writtenAt.length && !isHeldBack) {
        await new Promise<void>((resolve) => (goOn = resolve));
      }
      writtenAt.push(...(frame.includes('word') ? [performance.now()] : []));
    },
  });
  const late = setTimeout(() => {
    isHeldBack = true;
    goOn();
  }, WORDS_WITHIN_MS);
  const { body } = await ask(proxy, account, { stream: true });
  for await (const piece of body) {
    for (const _word of String(piece).matchAll(/word/g)) {
      delays.push(performance.now() - (writtenAt[delays.length] ?? 0));
    }
    goOn();
  }
  clearTimeout(late);
  const median = delays.sort((left, right) => left - right)[Math.floor(delays.length / 2)] ?? 0;
  const isSoon = delays.length === ANSWER.words && median < WORD_WITHIN_MS && !isHeldBack;
  return {
    saw: `half of the words arrive within ${median.toFixed(1)} ms`,
    failures: isSoon ? [] : [`a word arrives ${median.toFixed(0)} ms late, or not before the next one`],
  };
};

/** A disconnecting client ends its call at the provider, and pays for less than the whole answer. */
const leaves: Check = async ({ services, stack, proxy, account }) => {
  services.upstream.reset({ words: words(LONG_ANSWER.words), tokenDelayMs: LONG_ANSWER.tokenDelayMs });
  const ids = [];
  for (const stream of [true, false]) {
    const requestId = `left-${randomUUID()}`;
    const signal = AbortSignal.timeout(LEAVES_AFTER_MS);
    const answer = ask(proxy, account, { stream, requestId, signal });
    await answer.then(({ body }) => body.dump({ limit: Number.POSITIVE_INFINITY })).catch(() => undefined);
    ids.push(requestId);
  }
  await pause(ABORTED_WITHIN_MS);
  const { requests } = services.upstream;
  const aborted = requests.filter(({ abortedAt }) => abortedAt !== undefined).length;
  const rows = await queryOwner<{ status: string; output_tokens: number }>(
    stack.database.ownerUrl,
    'SELECT status, output_tokens FROM generations WHERE request_id = ANY($1)',
    [ids],
  );
  const cancelled = rows.filter((row) => row.status === 'cancelled' && row.output_tokens < LONG_ANSWER.words);
  return {
    saw: `${aborted} of ${requests.length} calls of disconnected clients ended at the provider`,
    failures:
      aborted === 2 && cancelled.length === 2
        ? []
        : [
            `a disconnect does not end the call: ${aborted} of ${requests.length} aborted, ${JSON.stringify(rows)}`,
          ],
  };
};

/** The API sees the client's real address, whatever address the client claims. */
const knowsAddress: Check = async ({ stack, proxy, account }) => {
  const dispatcher = new Agent({ localAddress: CLIENT_ADDRESS });
  const { statusCode, body } = await request(`${proxy.url}/api/v1/sessions`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    body: JSON.stringify({ api_key: account.key }),
  });
  await body.dump();
  await dispatcher.close();
  const rows = await queryOwner<{ address: string }>(
    stack.database.ownerUrl,
    'SELECT address FROM console_sessions',
  );
  const seen = rows.map(({ address }) => address).join();
  return {
    saw: seen === CLIENT_ADDRESS ? "the client's address, not the forged one" : `address ${seen}`,
    failures: seen === CLIENT_ADDRESS ? [] : [`the client's address is ${seen} for the API (${statusCode})`],
  };
};

/** Metrics are not exposed, a caller's request id is kept, and the API itself rejects an oversized body. */
const passesAsItIs: Check = async ({ proxy, account }) => {
  const metrics = await request(`${proxy.url}/metrics`);
  await metrics.body.dump();
  const huge = await ask(proxy, account, { padding: 'x'.repeat(32.5 * 2 ** 20), requestId: 'too-large' });
  const refusal = await huge.body.text();
  const isOurs = huge.statusCode === 413 && refusal.includes('"payload_too_large"');
  return {
    saw: 'the API rejects what is too large',
    failures: [
      ...(metrics.statusCode === 404 ? [] : [`/metrics answers ${metrics.statusCode}`]),
      ...(isOurs ? [] : [`32.5 MiB: ${huge.statusCode} ${refusal.slice(0, 200)}`]),
      ...(huge.headers['x-request-id'] === 'too-large'
        ? []
        : [`x-request-id ${huge.headers['x-request-id']}`]),
    ],
  };
};

/** After kill -9 under calls, no call is sent twice, and later calls go to other processes. */
const isNeverSentTwice: Check = async ({ services, stack, proxy, account, log }) => {
  services.upstream.reset({ words: words(ANSWER.words), tokenDelayMs: 100 });
  const target = { urls: () => [proxy.url], accounts: [account], log, streamShare: 0.5 };
  const before = log.calls.length;
  const caught = sendBurst(target, CAUGHT);
  await eventually(async () => services.upstream.requests.length >= CAUGHT, 60_000);
  await stack.apis[0]?.kill();
  await caught;
  const asked = services.upstream.requests.length;
  const broken = log.calls.slice(before).filter(({ outcome }) => outcome === 'broken').length;
  await stack.replaceApi(0);
  return {
    saw: `kill -9: ${broken} of ${CAUGHT} calls broke, none was sent twice`,
    failures: asked === CAUGHT ? [] : [`${CAUGHT} calls were sent ${asked} times`],
  };
};

/** A rolling restart of the processes loses no call. */
const drains: Check = async ({ services, stack, proxy, account, log }) => {
  services.upstream.reset({ words: words(ANSWER.words), tokenDelayMs: ANSWER.tokenDelayMs });
  // gives the health checks time to find the new process
  await pause(3_000);
  const target = { urls: () => [proxy.url], accounts: [account], log, streamShare: 0.5 };
  const before = log.calls.length;
  const load = startClients(target, CLIENTS, ANSWER.words * ANSWER.tokenDelayMs);
  await pause(2_000);
  const codes: (number | null)[] = [];
  for (let place = 0; place < PROCESSES; place += 1) {
    codes.push(await stack.restartApi(place));
    await pause(2_000);
  }
  await load.stop();
  const calls = log.calls.slice(before);
  // shed calls do not count: on a busy machine the API may be overloaded, which another row covers
  const shed = calls.filter(isShed).length;
  const failed = calls.filter(({ outcome }) => outcome !== 'answered').length - shed;
  return {
    saw: `${failed} of ${calls.length} calls failed under ${PROCESSES} restarts${shed > 0 ? ` (${shed} shed by the API)` : ''}`,
    failures: [
      ...(failed > 0 ? [`${failed} calls failed: ${JSON.stringify(log.troublesFrom(before))}`] : []),
      ...(codes.every((code) => code === 0) ? [] : [`processes ended with ${codes.join()}`]),
    ],
  };
};

function behind(id: string, kind: ReverseProxy): ChaosScenario {
  return {
    id,
    fault: `behind ${kind.name} with our configuration file: clients disconnect, lie about their address, send too much; processes are killed and restarted`,
    asked:
      'streams pass at once, a disconnect ends the call, nothing is sent twice, 0 calls fail under restarts',
    inShortForm: false,
    async run(services) {
      const program = await kind.find().catch((error: unknown) => String(error));
      if (typeof program === 'string') {
        return { measured: '', failures: [], skipped: `${kind.name} is not available: ${program}` };
      }
      const settings = { NODE_ENV: 'production', TRUSTED_PROXIES: '1' };
      const stack = await startStack(services, { apis: PROCESSES, settings });
      const proxy = await kind.start(program, stack, join(services.folder, kind.name));
      try {
        return await runChecks(services, stack, proxy);
      } finally {
        await proxy.stop();
        await stack.stop();
      }
    },
  };
}

async function runChecks(
  services: ChaosServices,
  stack: ChaosStack,
  proxy: RunningProxy,
): Promise<ChaosFinding> {
  const bench = { services, stack, proxy, account: await stack.openAccount('1000'), log: new OutcomeLog() };
  const seen: string[] = [];
  const failures: string[] = [];
  for (const check of [streams, leaves, knowsAddress, passesAsItIs]) {
    const result = await check(bench);
    seen.push(result.saw);
    failures.push(...result.failures);
  }
  // from here on, calls come from load clients, and the books are compared with their records
  const others = await queryOwner<{ request_id: string }>(
    stack.database.ownerUrl,
    'SELECT request_id FROM generations',
  );
  for (const check of [isNeverSentTwice, drains]) {
    const result = await check(bench);
    seen.push(result.saw);
    failures.push(...result.failures);
  }
  const books = await auditBooks(stack.database.ownerUrl, 60_000);
  const { wrong } = await auditCalls(
    stack.database.ownerUrl,
    bench.log.calls,
    others.map((row) => row.request_id),
  );
  return { measured: `${proxy.version}: ${seen.join('; ')}`, failures: [...failures, ...wrong, ...books] };
}

interface Question {
  readonly stream?: boolean;
  readonly requestId?: string;
  readonly padding?: string;
  readonly signal?: AbortSignal;
}

function ask(proxy: RunningProxy, { key }: ChaosAccount, question: Question) {
  const { stream = false, requestId = randomUUID(), padding, signal } = question;
  return request(`${proxy.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify({
      model: CHAT_MODEL,
      messages: [{ role: 'user', content: 'Words, please.' }],
      max_tokens: 200,
      stream,
      ...(padding !== undefined && { user: padding }),
    }),
    ...(signal !== undefined && { signal }),
  });
}

export const behindNginx = behind('G1', nginx);
export const behindHaproxy = behind('G2', haproxy);
export const behindCaddy = behind('G3', caddy);
export const behindTraefik = behind('G4', traefik);
export const behindEnvoy = behind('G5', envoy);

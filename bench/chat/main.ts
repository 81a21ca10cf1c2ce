import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { addressOf, startProcess } from '../measure/processes.ts';
import { processorMs } from '../measure/processor-time.ts';
import { profileSummary } from '../measure/profile.ts';
import { comparedTable, publishResult } from '../measure/result.ts';
import { markdownTable } from '../measure/table.ts';
import { atRate, type ChatTarget, crowd, saturate, type Timing, type Turn, timingOf } from './load.ts';

/**
 * `npm run bench:chat [-- --quick --profile]`: one API process with authentication, hold and settle in Postgres (fsync on) against a
 * bare proxy on the same stack and the same simulated upstream, in the same run. Both are warmed up for as long, so that they run
 * compiled code, and then take turns, so that both meet the same machine.
 */
const profiled = process.argv.includes('--profile');
const quick = process.argv.includes('--quick');
const SECONDS = quick ? 3 : 8;
const WARM_UP_SECONDS = quick ? 3 : 25;
const TURNS = quick ? 1 : 3;
const CONNECTIONS = 64;
const RATE = 200;
const STREAM_RATE = 20;
const STREAMS_AT_ONCE = quick ? 200 : 2_000;
const STREAMS_PER_SECOND = 200;

function catalogFor(upstream: string): string {
  return `
providers: [{ id: simulated, protocol: openai, base_url: "${upstream}/v1", api_key: none }]
models:
  - id: bench/model
    endpoints: [chat]
    context_length: 128000
    max_output_tokens: 4096
    pricing: { prompt: "0.00000015", completion: "0.0000006" }
    routes: [{ provider: simulated, model: simulated }]
limits: { requests_per_minute: 10000000, tokens_per_minute: 10000000000, concurrency: 10000 }
`;
}

/** What was measured of one target, turn by turn. */
class Measured {
  readonly #target: ChatTarget;
  readonly #pid: number;
  readonly #full: Turn[] = [];
  readonly #rate: Turn[] = [];
  readonly #first: Turn[] = [];
  /** Ms of processor time of the serving process. */
  readonly #processorMs = { full: 0, rate: 0 };

  constructor(target: ChatTarget, { pid = 0 }: ChildProcess) {
    this.#target = target;
    this.#pid = pid;
  }

  async warmUp(): Promise<void> {
    await saturate(this.#target, CONNECTIONS, WARM_UP_SECONDS);
  }

  async takeTurn(): Promise<void> {
    const startedAt = processorMs(this.#pid);
    this.#full.push(await saturate(this.#target, CONNECTIONS, SECONDS));
    const saturatedAt = processorMs(this.#pid);
    this.#rate.push(await atRate(this.#target, RATE, SECONDS, false));
    this.#processorMs.full += saturatedAt - startedAt;
    this.#processorMs.rate += processorMs(this.#pid) - saturatedAt;
    this.#first.push(await atRate(this.#target, STREAM_RATE, SECONDS, true));
  }

  timings() {
    const calls = (turns: readonly Turn[]) => turns.reduce((sum, turn) => sum + turn.latenciesMs.length, 0);
    return {
      full: timingOf(this.#full),
      rate: timingOf(this.#rate),
      first: timingOf(this.#first),
      processorMsPerCall: {
        full: this.#processorMs.full / calls(this.#full),
        rate: this.#processorMs.rate / calls(this.#rate),
      },
    };
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-chat-'));
const log = join(folder, 'processes.log');
const postgres = await startBenchPostgres();
const children: ChildProcess[] = [];
try {
  const upstream = startProcess('bench/chat/upstream.ts', {}, log);
  children.push(upstream);
  const upstreamUrl = await addressOf(upstream);
  writeFileSync(join(folder, 'tollgate.yaml'), catalogFor(upstreamUrl));
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: 'redis://127.0.0.1:1',
    DATA_DIR: folder,
    TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
    TOLLGATE_SECRET: 'a secret of the chat bench, 32 characters',
    ADMIN_TOKEN: 'admin-token-of-the-chat-bench',
    PORT: '0',
    LOG_LEVEL: 'info',
  };
  await once(startProcess('dist/src/operators/first-start.js', environment, log), 'exit');
  const bare = startProcess('bench/chat/bare-proxy.ts', { UPSTREAM_URL: upstreamUrl }, log);
  const profiling = profiled ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
  const gateway = startProcess('dist/src/server.js', environment, log, profiling);
  children.push(bare, gateway);
  const targets = {
    bare: { name: 'bare proxy', url: await addressOf(bare), key: 'none' },
    gateway: {
      name: 'Tollgate',
      url: await addressOf(gateway),
      key: readFileSync(join(folder, 'owner.key'), 'utf8').trim(),
    },
  };
  const measured = {
    bare: new Measured(targets.bare, bare),
    gateway: new Measured(targets.gateway, gateway),
  };
  await measured.bare.warmUp();
  await measured.gateway.warmUp();
  for (let turn = 0; turn < TURNS; turn += 1) {
    await measured.bare.takeTurn();
    await measured.gateway.takeTurn();
  }
  const streams = await crowd(targets.gateway, STREAMS_AT_ONCE, STREAMS_PER_SECOND);
  const bareResult = measured.bare.timings();
  const ours = measured.gateway.timings();
  const added = (a: number, b: number) => `+${(a - b).toFixed(1)} ms`;
  const both = ({ p50Ms, p99Ms }: Timing) => `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms`;
  const processorOf = ({ processorMsPerCall: { full, rate } }: ReturnType<Measured['timings']>) =>
    `${full.toFixed(2)} / ${rate.toFixed(2)}`;
  const addedBoth = (our: Timing, bares: Timing) =>
    `${added(our.p50Ms, bares.p50Ms)} / ${added(our.p99Ms, bares.p99Ms)}`;
  publishResult({
    conditions:
      'One API process, authentication, hold and settle in Postgres with fsync on; the baseline is a bare proxy on the same stack, without keys and money.',
    headlines: {},
    tables: [comparedTable([
      {
        figure: `chat calls per second, ${CONNECTIONS} connections`,
        baseline: bareResult.full.perSecond.toFixed(0),
        tollgate: ours.full.perSecond.toFixed(0),
        compared: `${(ours.full.perSecond / bareResult.full.perSecond).toFixed(2)} ×`,
      },
      {
        figure: `chat latency p50 / p99 at ${RATE} calls/s`,
        baseline: both(bareResult.rate),
        tollgate: both(ours.rate),
        compared: addedBoth(ours.rate, bareResult.rate),
      },
      {
        figure: `first token p50 / p99 at ${STREAM_RATE} streams/s`,
        baseline: both(bareResult.first),
        tollgate: both(ours.first),
        compared: addedBoth(ours.first, bareResult.first),
      },
      {
        figure: `streams of 20 s that came whole, ${STREAMS_PER_SECOND} more each second; first token p50 / p99`,
        baseline: '',
        tollgate: `${streams.complete} of ${STREAMS_AT_ONCE}, ${streams.atOnce} at once`,
        compared: both(streams.firstToken),
      },
      {
        figure: `processor time of the serving process per call, ms: at saturation / at ${RATE} calls/s`,
        baseline: processorOf(bareResult),
        tollgate: processorOf(ours),
        compared: '',
      },
    ])],
  });
} finally {
  for (const child of children) {
    child.disconnect();
    await once(child, 'exit');
  }
  await postgres.stop();
  if (profiled) {
    const rows = profileSummary(folder).map(([place, share]) => [place, `${(share * 100).toFixed(1)} %`]);
    process.stdout.write(`${markdownTable([['busy time of the API process', 'share'], ...rows])}\n`);
  }
  rmSync(folder, { recursive: true, force: true });
}

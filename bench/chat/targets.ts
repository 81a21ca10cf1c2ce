import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { openAccounts } from '../measure/accounts.ts';
import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { addressOf, startProcess, stopProcess } from '../measure/processes.ts';
import { type Meters, ownProcessorMs, processorMs } from '../measure/processor-time.ts';
import { type Product, type ProductOptions, startProduct } from '../measure/product.ts';
import type { ChatTarget } from './connections.ts';
import { PORTKEY_VERSION, startPortkey } from './portkey.ts';

const API_PATH = '/api/v1/chat/completions';
const PORTKEY_PATH = '/v1/chat/completions';

/** A target of calls and the processes that serve them. */
export interface BenchTarget extends ChatTarget {
  readonly meters: Meters;
}

/** The simulated provider behind all targets. */
export interface Upstream {
  readonly url: string;
  readonly meter: () => number;
  stop(): Promise<void>;
}

export interface Comparison {
  readonly tollgate: BenchTarget;
  readonly express: BenchTarget;
  readonly node: BenchTarget;
  readonly floor: BenchTarget;
  /** Undefined when Portkey could not be started. */
  readonly portkey: BenchTarget | undefined;
  /** Why Portkey is missing; empty when it is not. */
  readonly missing: string;
  stop(): Promise<void>;
}

/** Returns a catalog of one model behind the simulated provider, with limits that are never reached. */
export function chatCatalog(upstreamUrl: string): string {
  return `
providers: [{ id: simulated, protocol: openai, base_url: "${upstreamUrl}/v1", api_key: none }]
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

export async function startUpstream(log: string): Promise<Upstream> {
  const child = startProcess('bench/chat/upstream.ts', {}, log);
  return {
    url: await addressOf(child),
    meter: () => processorMs(child.pid ?? 0),
    stop: () => stopProcess(child),
  };
}

type ChatProductOptions = Pick<ProductOptions, 'settings' | 'apiOptions' | 'build'>;

/** Starts the product in front of the simulated provider, in its own folder below `folder`. */
export async function startChatProduct(
  folder: string,
  upstream: Upstream,
  options: ChatProductOptions = {},
): Promise<Product> {
  return await startProduct({ folder, catalog: chatCatalog(upstream.url), ...options });
}

/** What is running while installations of the product are measured. */
export interface Installations {
  /** In the order of the options passed in. */
  readonly products: readonly Product[];
  readonly upstream: Upstream;
  readonly folder: string;
}

/** Runs installations of the product side by side, in front of one simulated provider, until `measure` has ended. */
export async function withProducts<T>(
  name: string,
  options: readonly ChatProductOptions[],
  measure: (installations: Installations) => Promise<T>,
): Promise<T> {
  const folder = ownTemporaryFolder(`bench-${name}`);
  const upstream = await startUpstream(join(folder, 'upstream.log'));
  const products: Product[] = [];
  try {
    for (const [place, each] of options.entries()) {
      products.push(await startChatProduct(join(folder, String(place)), upstream, each));
    }
    return await measure({ products, upstream, folder });
  } finally {
    await Promise.all(products.map((product) => product.stop()));
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the product as a target that is called with these keys. */
export function productTarget(
  name: string,
  product: Product,
  upstream: Upstream,
  keys: readonly string[],
): BenchTarget {
  const meters = { ...product.meters, ...besides(upstream) };
  return { name, url: product.url, path: API_PATH, headers: {}, keys, isForeign: false, meters };
}

/** The meters of the load generator and the upstream, which belong to no target but use the same machine. */
function besides(upstream: Upstream): Meters {
  return { upstream: upstream.meter, load: ownProcessorMs };
}

/** Starts one of the baseline proxies in its own process. */
export async function startProxy(
  name: string,
  script: 'express-proxy.ts' | 'node-proxy.ts',
  log: string,
  upstream: Upstream,
): Promise<{ target: BenchTarget; child: ChildProcess }> {
  const child = startProcess(`bench/chat/${script}`, { UPSTREAM_URL: upstream.url }, log);
  const url = await addressOf(child);
  const meters = { 'own process': () => processorMs(child.pid ?? 0), ...besides(upstream) };
  return {
    target: { name, url, path: API_PATH, headers: {}, keys: ['none'], isForeign: false, meters },
    child,
  };
}

/** Starts the floor with a Postgres of its own, so that the product's turns do not pay for sealing and vacuuming what the floor booked. */
async function startFloor(log: string, upstream: Upstream) {
  const postgres = await startBenchPostgres();
  // the floor knows one account; which one a key belongs to makes no difference to it
  const key = newSecret(newUuid());
  const environment = { UPSTREAM_URL: upstream.url, DATABASE_URL: postgres.url, KEY: key };
  const child = startProcess('bench/chat/durable-floor.ts', environment, log);
  const stop = async () => {
    await stopProcess(child);
    await postgres.stop();
  };
  const url = await addressOf(child).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const meters: Meters = {
    'own process': () => processorMs(child.pid ?? 0),
    Postgres: () => processorMs(postgres.pid),
    ...besides(upstream),
  };
  const target: BenchTarget = {
    name: 'durable floor',
    url,
    path: API_PATH,
    headers: {},
    keys: [key],
    isForeign: false,
    meters,
  };
  return { target, stop };
}

async function startPortkeyTarget(log: string, upstream: Upstream) {
  const portkey = await startPortkey(log);
  const target: BenchTarget = {
    name: `Portkey ${PORTKEY_VERSION}`,
    url: portkey.url,
    path: PORTKEY_PATH,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream.url}/v1` },
    keys: ['none'],
    isForeign: true,
    meters: { 'own process': () => processorMs(portkey.pid), ...besides(upstream) },
  };
  return { target, stop: portkey.stop };
}

/** Starts the product and everything it is compared with, in front of the same upstream. */
export async function startComparison(folder: string, upstream: Upstream): Promise<Comparison> {
  const log = join(folder, 'processes.log');
  const product = await startChatProduct(join(folder, 'product'), upstream);
  const started: (() => Promise<void>)[] = [product.stop];
  const stop = async () => {
    await Promise.all(started.map((end) => end()));
  };
  try {
    const [hot = ''] = await openAccounts(product.url, product.adminToken, 1);
    const express = await startProxy('Express + undici', 'express-proxy.ts', log, upstream);
    started.push(() => stopProcess(express.child));
    const node = await startProxy('node:http + undici', 'node-proxy.ts', log, upstream);
    started.push(() => stopProcess(node.child));
    const floor = await startFloor(log, upstream);
    started.push(floor.stop);
    const portkey = await startPortkeyTarget(log, upstream).catch((error: Error) => error);
    return {
      tollgate: productTarget('Tollgate', product, upstream, [hot]),
      express: express.target,
      node: node.target,
      floor: floor.target,
      portkey: portkey instanceof Error ? undefined : portkey.target,
      missing: portkey instanceof Error ? `Portkey was not measured: ${portkey.message.split('\n')[0]}.` : '',
      stop: async () => {
        if (!(portkey instanceof Error)) {
          portkey.stop();
        }
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

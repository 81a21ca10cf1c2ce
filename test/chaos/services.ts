import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import sharp from 'sharp';
import { migrateUp } from '../../migrations/migrate.ts';
import { startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { startTestServices } from '../setup/test-services.ts';
import { SimulatedEngine } from './simulated-engine.ts';

/** A separate database for one scenario. */
export interface ChaosDatabase {
  /** Application role. */
  readonly url: string;
  readonly ownerUrl: string;
}

/** What a scenario runs on: the compiled product, a durable Postgres, a Redis without persistence, and simulated upstreams. */
export interface ChaosServices {
  /** Folder of the compiled product. */
  readonly product: string;
  readonly folder: string;
  readonly programs: { readonly ffmpeg: string; readonly ffprobe: string };
  readonly redisUrl: string;
  /** A chat provider: 20 input tokens, one output token per word of its script. */
  readonly upstream: UpstreamServer;
  /** A second provider, for scenarios with a fallback. */
  readonly otherUpstream: UpstreamServer;
  readonly engine: SimulatedEngine;
  createDatabase(): Promise<ChaosDatabase>;
  /** Process id of the postmaster. */
  postgresPid(): number;
  postgresPort(): number;
  /** Kills the postmaster with SIGKILL. */
  killPostgres(): void;
  /** Starts Postgres again on the same files and port. Resolves when it answers. */
  startPostgres(): Promise<void>;
  killRedis(): void;
  startRedis(): Promise<void>;
  /** Deletes everything in Redis. */
  flushRedis(): Promise<void>;
  close(): Promise<void>;
}

const IMAGE_SIDE = 256;

/** Starts everything except the compiled product, which is in the folder `product`. It all ends when this process ends, however it dies. */
export async function startChaosServices(
  environment: NodeJS.ProcessEnv,
  product: string,
): Promise<ChaosServices> {
  const started = await startTestServices({ ...environment, TEST_DURABLE: '1' });
  const { folder } = started;
  const shared = { dataDir: folder };
  const postgresOptions = { ...shared, durable: true, logFile: join(folder, 'logs', 'postgres.log') };
  const redisOptions = {
    ...shared,
    durable: false,
    logFile: join(folder, 'logs', 'redis.log'),
    environment,
    cacheFolders: redisCacheFolders(environment, folder),
  };
  let { postgres } = started;
  await started.redis.stop();
  let redis = await startEmbeddedRedis(redisOptions);
  const [upstream, otherUpstream, engine] = await Promise.all([
    startOpenAiUpstream(),
    startOpenAiUpstream(),
    new SimulatedEngine().start(),
  ]);
  const background = { r: 51, g: 85, b: 119 };
  const size = { width: IMAGE_SIDE, height: IMAGE_SIDE, channels: 3 as const };
  engine.media = await sharp({ create: { ...size, background } })
    .png()
    .toBuffer();
  mkdirSync(join(folder, 'processes'), { recursive: true });
  return {
    product,
    folder,
    programs: findFfmpeg(environment),
    redisUrl: redis.redisUrl,
    upstream,
    otherUpstream,
    engine,
    createDatabase: () => createDatabase(postgres.ownerUrl, postgres.databaseUrl),
    postgresPid: () => postgres.pid,
    postgresPort: () => postgres.port,
    killPostgres: () => void process.kill(postgres.pid, 'SIGKILL'),
    startPostgres: async () => {
      postgres = await startEmbeddedPostgres(postgresOptions);
    },
    killRedis: () => void process.kill(redis.pid, 'SIGKILL'),
    startRedis: async () => {
      redis = await startEmbeddedRedis(redisOptions);
    },
    flushRedis: () => flushRedis(redis.redisUrl),
    close: async () => {
      await Promise.all([upstream.close(), otherUpstream.close(), engine.close()]);
      await started.stop();
    },
  };
}

/** Creates a migrated database on the server with these two URLs. */
export async function createDatabase(ownerUrl: string, applicationUrl: string): Promise<ChaosDatabase> {
  const name = `chaos_${randomBytes(5).toString('hex')}`;
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`).finally(() => client.end());
  const database = { url: withDatabase(applicationUrl, name), ownerUrl: withDatabase(ownerUrl, name) };
  const applicationRole = decodeURIComponent(new URL(applicationUrl).username);
  await migrateUp({ ownerUrl: database.ownerUrl, applicationRole });
  return database;
}

async function flushRedis(url: string): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on('error', () => undefined);
  await redis.flushall().finally(() => redis.disconnect());
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

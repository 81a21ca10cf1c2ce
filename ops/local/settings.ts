import { resolve } from 'node:path';
import { databaseAddresses } from '../../src/config/database-url.ts';
import { redisAddress } from '../../src/lib/redis-url.ts';
import { SettingsFailure } from '../embedded/start-failure.ts';

export type SupervisorSettings = {
  port: number;
  host: string;
  /** Absolute path. */
  dataDir: string;
  /** Absolute path of the catalog file. */
  configFile: string;
  publicUrl: string;
  /** When set, the embedded Postgres is not used. */
  databaseUrl: string | undefined;
  ownerUrl: string | undefined;
  /** When set, the embedded Redis is not used. */
  redisUrl: string | undefined;
  adminToken: string | undefined;
  secret: string | undefined;
  /** Time that API and worker get to exit: what they give their calls and jobs, plus a margin. */
  drainMs: number;
  /** Maximum bytes of all files of one log together. */
  logBytesMax: number;
};

const DRAIN_MARGIN_MS = 5_000;

const LOG_MEGABYTES_MIN = 5;
const SECRET_CHARACTERS_MIN = 32;

/** Reads and validates the settings of a local start. Throws SettingsFailure with one line that names the wrong setting. */
export function readSettings(environment: NodeJS.ProcessEnv, root: string): SupervisorSettings {
  const host = read(environment, 'HOST') ?? '127.0.0.1';
  const port = readPort(environment);
  const databaseUrl = readDatabaseUrl(environment, 'DATABASE_URL');
  return {
    port,
    host: checkHost(host),
    dataDir: resolve(root, read(environment, 'DATA_DIR') ?? '.data'),
    configFile: resolve(root, read(environment, 'TOLLGATE_CONFIG') ?? 'tollgate.yaml'),
    publicUrl: readPublicUrl(environment) ?? localUrl(host, port),
    databaseUrl,
    ownerUrl: readDatabaseUrl(environment, 'DATABASE_OWNER_URL') ?? databaseUrl,
    redisUrl: readRedisUrl(environment),
    adminToken: read(environment, 'ADMIN_TOKEN'),
    secret: readSecret(environment),
    drainMs: readDrainSeconds(environment) * 1_000 + DRAIN_MARGIN_MS,
    logBytesMax: readLogMegabytes(environment) * 1_000_000,
  };
}

/** Returns the address for reaching a server that listens on `host` from this machine. */
export function localUrl(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::';
  const name = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

function read(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

function readPort(environment: NodeJS.ProcessEnv): number {
  const text = read(environment, 'PORT') ?? '8080';
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    throw new SettingsFailure(`PORT is "${text}", but must be a number from 1 to 65535.`);
  }
  return port;
}

function readDrainSeconds(environment: NodeJS.ProcessEnv): number {
  const text = read(environment, 'DRAIN_SECONDS') ?? '30';
  if (!/^\d{1,4}$/.test(text) || Number(text) > 3_600) {
    throw new SettingsFailure(`DRAIN_SECONDS is "${text}", but must be a number from 0 to 3600.`);
  }
  return Number(text);
}

function readLogMegabytes(environment: NodeJS.ProcessEnv): number {
  const text = read(environment, 'LOG_KEEP_MB') ?? '100';
  if (!/^\d{1,6}$/.test(text) || Number(text) < LOG_MEGABYTES_MIN) {
    throw new SettingsFailure(
      `LOG_KEEP_MB is "${text}", but must be a number from ${LOG_MEGABYTES_MIN} to 999999.`,
    );
  }
  return Number(text);
}

function checkHost(host: string): string {
  if (!/^[\w.:-]+$/.test(host)) {
    throw new SettingsFailure(`HOST is "${host}", but must be an address such as 127.0.0.1 or 0.0.0.0.`);
  }
  return host;
}

function readPublicUrl(environment: NodeJS.ProcessEnv): string | undefined {
  const text = read(environment, 'PUBLIC_URL');
  if (text !== undefined && !/^https?:\/\//.test(text)) {
    throw new SettingsFailure('PUBLIC_URL must be a URL that starts with http:// or https://.');
  }
  return text;
}

function readDatabaseUrl(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = read(environment, name);
  if (text !== undefined) {
    checked(() => databaseAddresses(text, name));
  }
  return text;
}

function readRedisUrl(environment: NodeJS.ProcessEnv): string | undefined {
  const text = read(environment, 'REDIS_URL');
  if (text !== undefined) {
    checked(() => redisAddress(text), 'REDIS_URL ');
  }
  return text;
}

/** Parses an address as the services will. What the parser says never repeats the value, which may contain a password. */
function checked(parse: () => unknown, subject = ''): void {
  try {
    parse();
  } catch (error) {
    throw new SettingsFailure(`${subject}${(error as Error).message}.`);
  }
}

function readSecret(environment: NodeJS.ProcessEnv): string | undefined {
  const secret = read(environment, 'TOLLGATE_SECRET');
  if (secret !== undefined && secret.length < SECRET_CHARACTERS_MIN) {
    throw new SettingsFailure(
      `TOLLGATE_SECRET has ${secret.length} characters, but needs at least ${SECRET_CHARACTERS_MIN}.`,
    );
  }
  return secret;
}

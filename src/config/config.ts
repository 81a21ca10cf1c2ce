import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { redisAddress } from '../lib/redis-url.ts';
import { ConfigError } from './config-error.ts';
import { databaseAddresses } from './database-url.ts';
import { adminToken, DEFAULT_OPERATOR, namedOperators, type Operator } from './operator-settings.ts';
import { type StorageChoice, storageChoice, storageVariables } from './storage-settings.ts';
import { allowsTestPayments } from './test-payments.ts';

export { ConfigError };

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ allowed: `${min} to ${max}` });

const url = (protocols: readonly string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });

const secret = z.string().min(32, 'must have at least 32 characters; make one with: openssl rand -hex 32');

const previousSecrets = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((parts) => parts.every((part) => part.length >= 32), 'each must have at least 32 characters');

const corsOrigins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
    'must be origins such as https://app.example.com, separated by commas, or *',
  );

/** Scheme, host and port as a browser sends them in Origin: no path, no trailing slash. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}

/** The environment of a process. The descriptions are what `docs/reference/settings.md` says. */
export const SETTINGS = z.object({
  PORT: integer(0, 65_535)
    .default(8080)
    .describe('where the API listens; 0: any free one (not with `npm start`)'),
  HOST: z.string().min(1).default('127.0.0.1').describe('the address that the API listens on'),
  LISTEN_SOCKET: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .max(100, 'must have at most 100 characters')
    .optional()
    .meta({ allowed: 'an absolute path, at most 100 characters' })
    .describe('a socket that the API also listens on, for a proxy on the same host'),
  PUBLIC_URL: url(['http:', 'https:'])
    .optional()
    .describe('base of the links that clients get; without it made of `HOST` and `PORT`'),
  DATABASE_URL: z.string().min(1).describe('Postgres 14 or newer, as the application role'),
  REDIS_URL: z.string().min(1).describe('Redis 6.2 or newer, or Valkey, with `maxmemory-policy noeviction`'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('./.data')
    .describe('media (storage `fs`), scratch files, logs of `npm start`'),
  BOOKS_ROOTS_DIR: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .optional()
    .meta({ allowed: 'an absolute path' })
    .describe(
      'folder of the files that say what [the books](../books.md) were at the end of each day; the same for the API and the workers',
    ),
  TOLLGATE_CONFIG: z
    .string()
    .min(1)
    .default('./tollgate.yaml')
    .describe('the [catalog](tollgate-yaml.md); read again when it changes and on SIGHUP'),
  TOLLGATE_SECRET: secret
    .meta({ allowed: '32 characters or more' })
    .describe('root of the keys that sign media links and encrypt stored answers and webhook secrets'),
  TOLLGATE_SECRET_PREVIOUS: previousSecrets
    .default([])
    .meta({ allowed: '32 characters or more each, separated by commas' })
    .describe('former secrets: what was made under them still counts'),
  ADMIN_TOKEN: adminToken
    .meta({ allowed: '24 characters or more' })
    .describe('bearer token of the operator that the audit log calls `operator`'),
  ADMIN_TOKENS: z
    .string()
    .transform(namedOperators)
    .default([])
    .meta({ allowed: '`name:token`, separated by commas; names of up to 64 letters, digits, `-`, `_`' })
    .describe('a token for each person; the audit log names them'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('how much is logged'),
  DATABASE_CONNECTIONS: integer(4, 500)
    .default(20)
    .describe('of this process; a worker uses one more to listen'),
  TRUSTED_PROXIES: integer(0, 10)
    .default(0)
    .describe('number of proxies in front whose `X-Forwarded-For` is believed'),
  CORS_ORIGINS: corsOrigins
    .default([])
    .meta({ allowed: 'origins, separated by commas; `*`: any' })
    .describe('origins whose scripts may call the API from a browser; never with cookies'),
  DRAIN_SECONDS: integer(0, 3_600).default(30).describe('what running calls and jobs get after SIGTERM'),
  FFMPEG_PATH: z
    .string()
    .min(1)
    .default('ffmpeg')
    .describe('ffmpeg; `npm start` falls back to a packaged one'),
  FFPROBE_PATH: z.string().min(1).default('ffprobe').describe('ffprobe; as ffmpeg'),
  WORKER_PORT: integer(0, 65_535)
    .default(0)
    .describe("a worker's page with `/healthz` and `/metrics`; 0: any free port"),
  WORKER_NAME: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be a name of letters, digits, dots and dashes')
    .optional()
    .meta({ allowed: '1 to 63 letters, digits, dots, dashes' })
    .describe("host of a worker: what failed on one is tried on another; left out: the host's name"),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'])
    .optional()
    .describe('where traces go; without it none are made'),
  KEEP_PROMPTS: z
    .enum(['no', 'yes'], 'must be no or yes')
    .default('no')
    .describe(
      '`yes`: what a task was ordered with is kept until its row is deleted, so that it can be retried',
    ),
  WEBHOOK_PRIVATE_TARGETS: z
    .enum(['allow', 'refuse'])
    .default('refuse')
    .describe('webhooks to private addresses; `allow` only for development'),
  TEST_PAYMENTS: z
    .enum(['allow', 'refuse'], 'must be allow or refuse')
    .optional()
    .describe(
      'without Stripe and outside production: a payment page that gives credits and takes no money. Without it, only where `HOST` and `PUBLIC_URL` are loopback and there is no proxy',
    ),
  STRIPE_SECRET_KEY: z
    .string()
    .min(16)
    .optional()
    .meta({ allowed: '16 characters or more' })
    .describe('[takes payments](../payments.md); both Stripe settings or neither'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .meta({ allowed: '16 characters or more' })
    .describe('proves that payment events come from Stripe'),
  ...storageVariables,
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: without Stripe nothing can be bought, and a process that leaves waits for its balancer',
    ),
});

/** Everything a process of Tollgate is told from outside, checked and frozen. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** Path of a socket that the API also listens on, for a proxy on the same host; null: none. */
  readonly listenSocket: string | null;
  /** Base of the URLs we hand out, without a trailing slash. */
  readonly publicUrl: string;
  readonly databaseUrl: string;
  /** Connections this process may open, over both pools. */
  readonly databaseConnections: number;
  readonly redisUrl: string;
  readonly dataFolder: string;
  /** Folder of the files that say what the books were at the end of each day; null: none are written. */
  readonly bookRootsFolder: string | null;
  readonly catalogFile: string;
  /** Root of the keys that sign media URLs and encrypt stored answers. */
  readonly secret: string;
  /** Roots of before: what was made under them is still accepted and read, nothing new is made. */
  readonly previousSecrets: readonly string[];
  /** The token of the operator named `operator`. */
  readonly adminToken: string;
  /** Everybody who may operate, {@link adminToken} first. The audit log names them. */
  readonly operators: readonly Operator[];
  readonly logLevel: string;
  /** Proxies in front of the API whose word about the client's address is believed. */
  readonly trustedProxies: number;
  /** Origins whose scripts may call the API from a browser; `*`: any. */
  readonly corsOrigins: readonly string[];
  /** Milliseconds that running calls and jobs get to finish when the process is asked to stop. */
  readonly drainMs: number;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  /** Port of a worker's health and metrics page; 0: any free one. */
  readonly workerPort: number;
  /** The host, as workers name themselves after it: what failed on one is tried on another. */
  readonly workerName: string;
  /** Collector of traces; null: none are made. */
  readonly otlpEndpoint: string | null;
  /** Whether what a task was ordered with outlives it, up to the end of its row: only then can an operator retry it. */
  readonly keepPrompts: boolean;
  /** Webhooks to private addresses: only for development, never for a service others can reach. */
  readonly webhookPrivateTargets: boolean;
  readonly stripe: { readonly secretKey: string; readonly webhookSecret: string } | null;
  /** Whether, without Stripe, credits may be had on a page that takes no money. */
  readonly testPayments: boolean;
  readonly storage: StorageChoice;
  /** What workers without storage of their own show to the API; undefined: derived from the secret. */
  readonly storageToken: string | undefined;
  readonly production: boolean;
  /** The variables that tollgate.yaml may name as ${NAME}. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Reads and checks the environment, once. Throws {@link ConfigError}. */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = SETTINGS.safeParse(present);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0]);
    const problem = present[name] === undefined ? 'is not set' : (issue?.message ?? 'is wrong');
    throw new ConfigError(`${name} ${problem}`);
  }
  const settings = parsed.data;
  const publicUrl = settings.PUBLIC_URL ?? `http://${urlHost(settings.HOST)}:${settings.PORT}`;
  const where = {
    host: settings.HOST,
    publicUrl: publicUrl.replace(/\/+$/, ''),
    listenSocket: settings.LISTEN_SOCKET ?? null,
    trustedProxies: settings.TRUSTED_PROXIES,
    production: settings.NODE_ENV === 'production',
  };
  return Object.freeze({
    ...where,
    port: settings.PORT,
    databaseUrl: checkedDatabaseUrl(settings.DATABASE_URL),
    databaseConnections: settings.DATABASE_CONNECTIONS,
    redisUrl: checkedRedisUrl(settings.REDIS_URL),
    dataFolder: resolve(settings.DATA_DIR),
    bookRootsFolder: settings.BOOKS_ROOTS_DIR ?? null,
    catalogFile: resolve(settings.TOLLGATE_CONFIG),
    secret: settings.TOLLGATE_SECRET,
    previousSecrets: settings.TOLLGATE_SECRET_PREVIOUS,
    adminToken: settings.ADMIN_TOKEN,
    operators: [{ name: DEFAULT_OPERATOR, token: settings.ADMIN_TOKEN }, ...settings.ADMIN_TOKENS],
    logLevel: settings.LOG_LEVEL,
    corsOrigins: settings.CORS_ORIGINS,
    drainMs: settings.DRAIN_SECONDS * 1_000,
    ffmpegPath: settings.FFMPEG_PATH,
    ffprobePath: settings.FFPROBE_PATH,
    workerPort: settings.WORKER_PORT,
    workerName: settings.WORKER_NAME ?? hostname(),
    otlpEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    keepPrompts: settings.KEEP_PROMPTS === 'yes',
    webhookPrivateTargets: settings.WEBHOOK_PRIVATE_TARGETS === 'allow',
    stripe: stripeSettings(settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET),
    testPayments: allowsTestPayments(settings.TEST_PAYMENTS, where),
    storage: storageChoice(settings),
    storageToken: settings.STORAGE_TOKEN,
    variables: present,
  });
}

/** Throws ConfigError for a URL that no connection could use. */
function checkedDatabaseUrl(text: string): string {
  databaseAddresses(text);
  return text;
}

/** Throws ConfigError for a URL that no connection could use. */
function checkedRedisUrl(text: string): string {
  try {
    redisAddress(text);
    return text;
  } catch (error) {
    throw new ConfigError(`REDIS_URL ${(error as Error).message}`);
  }
}

/** Forged payment events are free credits: a Stripe key without a webhook secret must not start. */
function stripeSettings(secretKey: string | undefined, webhookSecret: string | undefined): Config['stripe'] {
  if (secretKey === undefined && webhookSecret === undefined) {
    return null;
  }
  if (secretKey === undefined || webhookSecret === undefined) {
    const missing = secretKey === undefined ? 'STRIPE_SECRET_KEY' : 'STRIPE_WEBHOOK_SECRET';
    throw new ConfigError(`${missing} is not set: Stripe needs both its secret key and its webhook secret`);
  }
  return { secretKey, webhookSecret };
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') {
    return 'localhost';
  }
  return host.includes(':') ? `[${host}]` : host;
}

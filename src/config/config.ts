import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { redisAddress } from '../lib/redis-url.ts';
import { coversAll, isLoopback, urlHost } from './addresses.ts';
import { ConfigError } from './config-error.ts';
import { databaseAddresses } from './database-url.ts';
import { readEnvironment } from './environment.ts';
import { type OidcSettings, oidcSettings } from './oidc-settings.ts';
import { type Operator, operatorsOf } from './operator-settings.ts';
import { processorCores } from './processor-cores.ts';
import { SETTINGS } from './settings.ts';
import { type StorageChoice, storageChoice } from './storage-settings.ts';

/** The settings that decide whether anyone beyond this machine can reach the payment page. */
interface Reachability {
  readonly host: string;
  /** As given, or built from host and port. */
  readonly publicUrl: string;
  readonly listenSocket: string | null;
  /** Number of trusted proxies in front. */
  readonly trustedProxies: number;
  readonly production: boolean;
}

export { ConfigError };

/** The complete configuration of a Tollgate process, validated and frozen. */
export interface Config {
  readonly port: number;
  readonly host: string;
  /** Path of a Unix socket that the API also listens on, for a proxy on the same host; null if none. */
  readonly listenSocket: string | null;
  /** A second address that serves monitoring only; null if none. */
  readonly metricsHost: string | null;
  /** Number of API processes that share the port. */
  readonly apiProcesses: number;
  /** Base of the URLs given to clients, without a trailing slash. */
  readonly publicUrl: string;
  readonly databaseUrl: string;
  /** Maximum connections of this process, over both pools. */
  readonly databaseConnections: number;
  /** Whether small ledger batches are planned once per connection or every time. */
  readonly ledgerPlans: 'kept' | 'fresh';
  readonly redisUrl: string;
  /** Prefix of every name in Redis. */
  readonly redisPrefix: string;
  readonly dataFolder: string;
  /** Folder for the files that record the state of the books at the end of each day; null if none are written. */
  readonly bookRootsFolder: string | null;
  /** Bucket that gets a copy of each file in that folder. */
  readonly bookRootsBucket: string | null;
  /** URL that each of these files is posted to. */
  readonly bookRootsWebhook: string | null;
  readonly catalogFile: string;
  /** Root of the keys that sign media URLs and encrypt stored answers. */
  readonly secret: string;
  /** Former roots: what was signed or encrypted under them is still accepted, but they are not used for anything new. */
  readonly previousSecrets: readonly string[];
  /** The token of the operator named `operator`. */
  readonly adminToken: string;
  /** All operators, {@link adminToken} first. The audit log names them. */
  readonly operators: readonly Operator[];
  readonly logLevel: string;
  /** Number of proxies in front of the API that are trusted to report the client's address. */
  readonly trustedProxies: number;
  /** Maximum idle connections of one address that have not presented a valid key. */
  readonly strangerConnections: number;
  /** Origins whose scripts may call the API from a browser; `*` for any. */
  readonly corsOrigins: readonly string[];
  /** Whether http:// URLs are also allowed for images and files in requests. */
  readonly httpMediaUrls: boolean;
  /** Time that running calls and jobs get to finish when the process is asked to stop, in ms. */
  readonly drainMs: number;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  /** Port of a worker's health and metrics page; 0 for any free one. */
  readonly workerPort: number;
  /** Name of the worker's host: work that failed on one host is retried on another. */
  readonly workerName: string;
  /** Where a worker checks whether its host is about to be taken away. */
  readonly preemption: { readonly file: string | null; readonly url: string | null };
  /** URL of the trace collector; null disables tracing. */
  readonly otlpEndpoint: string | null;
  /** The share of traces started here that is kept (0 to 1), and whether a caller's `traceparent` decides for its own trace. */
  readonly traceSampling: { readonly ratio: number; readonly followsParent: boolean };
  /** URL of the dashboards; null if not configured. */
  readonly grafanaUrl: string | null;
  /** Whether a task's order is kept after the task has ended, at most as long as its row. Only then can an operator retry it. */
  readonly keepPrompts: boolean;
  /** Whether webhooks may go to private addresses: only for development, never for a service that others can reach. */
  readonly webhookPrivateTargets: boolean;
  readonly stripe: { readonly secretKey: string; readonly webhookSecret: string } | null;
  /** Whether, without Stripe, a page grants credits without payment. */
  readonly testPayments: boolean;
  /** The OpenID provider for signing in; null if people sign in with keys only. */
  readonly oidc: OidcSettings | null;
  readonly storage: StorageChoice;
  /** Token that workers with remote storage send to the API; derived from the secret if undefined. */
  readonly storageToken: string | undefined;
  readonly production: boolean;
  /** The variables that tollgate.yaml may refer to as ${NAME}. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Settings that say how to use what another one turns on. Without it they would have no effect, and nobody would notice. */
const WITHOUT_EFFECT_ALONE = {
  WORKER_TOKEN: 'WORKER_API',
  S3_FORCE_PATH_STYLE: 'S3_ENDPOINT',
  OIDC_NAME: 'OIDC_ISSUER',
  OIDC_SCOPES: 'OIDC_ISSUER',
  OIDC_TRUST_EMAIL: 'OIDC_ISSUER',
} as const;

/** Reads and validates the environment. Throws {@link ConfigError}. */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const present: Record<string, string | undefined> = requireEffect(readEnvironment(environment));
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
    metricsHost: secondHost(settings.METRICS_HOST, settings.HOST),
    trustedProxies: settings.TRUSTED_PROXIES,
    production: settings.NODE_ENV === 'production',
  };
  return Object.freeze({
    ...where,
    port: settings.PORT,
    apiProcesses: settings.API_PROCESSES ?? Math.max(1, processorCores() - 1),
    databaseUrl: checkedDatabaseUrl(settings.DATABASE_URL),
    databaseConnections: settings.DATABASE_CONNECTIONS,
    ledgerPlans: settings.LEDGER_PLANS,
    redisUrl: checkedRedisUrl(settings.REDIS_URL),
    redisPrefix: settings.REDIS_PREFIX,
    dataFolder: resolve(settings.DATA_DIR),
    bookRootsFolder: settings.BOOKS_ROOTS_DIR ?? null,
    bookRootsBucket: settings.BOOKS_ROOTS_BUCKET ?? null,
    bookRootsWebhook: settings.BOOKS_ROOTS_WEBHOOK ?? null,
    catalogFile: resolve(settings.TOLLGATE_CONFIG),
    secret: settings.TOLLGATE_SECRET,
    previousSecrets: settings.TOLLGATE_SECRET_PREVIOUS,
    adminToken: settings.ADMIN_TOKEN,
    operators: operatorsOf(settings.ADMIN_TOKEN, settings.ADMIN_TOKENS),
    logLevel: settings.LOG_LEVEL,
    strangerConnections: settings.STRANGER_CONNECTIONS,
    corsOrigins: settings.CORS_ORIGINS,
    httpMediaUrls: settings.HTTP_MEDIA_URLS === 'allow',
    drainMs: settings.DRAIN_SECONDS * 1_000,
    ffmpegPath: settings.FFMPEG_PATH,
    ffprobePath: settings.FFPROBE_PATH,
    workerPort: settings.WORKER_PORT,
    workerName: settings.WORKER_NAME ?? hostname(),
    preemption: { file: settings.PREEMPTION_FILE ?? null, url: settings.PREEMPTION_URL ?? null },
    otlpEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    traceSampling: traceSampling(settings.OTEL_TRACES_SAMPLER, settings.OTEL_TRACES_SAMPLER_ARG),
    grafanaUrl: settings.GRAFANA_URL ?? null,
    keepPrompts: settings.KEEP_PROMPTS === 'yes',
    webhookPrivateTargets: settings.WEBHOOK_PRIVATE_TARGETS === 'allow',
    stripe: stripeSettings(settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET),
    testPayments: allowsTestPayments(settings.TEST_PAYMENTS, where),
    oidc: oidcSettings(settings, where.production),
    storage: storageChoice(settings),
    storageToken: settings.STORAGE_TOKEN,
    variables: present,
  });
}

/** Returns the variables. Throws ConfigError for one that would have no effect, because the one that it belongs to is not set. */
function requireEffect(present: Record<string, string | undefined>): Record<string, string | undefined> {
  for (const [name, needed] of Object.entries(WITHOUT_EFFECT_ALONE)) {
    if (present[name] !== undefined && present[needed] === undefined) {
      throw new ConfigError(`${name} has no effect without ${needed}: set ${needed} too, or remove ${name}`);
    }
  }
  return present;
}

/** Throws ConfigError for a ratio that the sampler does not use: every trace would be kept. */
function traceSampling(sampler: string, ratio: number | undefined): Config['traceSampling'] {
  if (ratio !== undefined && !sampler.endsWith('traceidratio')) {
    throw new ConfigError(
      `OTEL_TRACES_SAMPLER_ARG has no effect with the sampler ${sampler}: set OTEL_TRACES_SAMPLER=parentbased_traceidratio too, or remove OTEL_TRACES_SAMPLER_ARG`,
    );
  }
  const parts = { traceidratio: ratio ?? 1, always_on: 1, always_off: 0 };
  const root = sampler.replace('parentbased_', '') as keyof typeof parts;
  return { ratio: parts[root], followsParent: sampler.startsWith('parentbased_') };
}

/** Returns the URL. Throws ConfigError if no connection could use it. */
function checkedDatabaseUrl(text: string): string {
  databaseAddresses(text);
  return text;
}

/** Returns the URL. Throws ConfigError if no connection could use it. */
function checkedRedisUrl(text: string): string {
  try {
    redisAddress(text);
    return text;
  } catch (error) {
    throw new ConfigError(`REDIS_URL ${(error as Error).message}`);
  }
}

/** Requires both Stripe settings or neither: without the webhook secret, forged payment events would grant free credits. */
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

/** Returns a second address to listen on; null if the first one covers it. */
function secondHost(host: string | undefined, first: string): string | null {
  return host === undefined || host === first || coversAll(first) ? null : host;
}

/**
 * Returns whether the test page may grant credits without payment: by default only if nobody beyond this machine can reach it, otherwise
 * if TEST_PAYMENTS is `allow`. Throws ConfigError for `allow` in production, where credits are worth money.
 */
function allowsTestPayments(choice: 'allow' | 'refuse' | undefined, where: Reachability): boolean {
  if (where.production) {
    if (choice === 'allow') {
      throw new ConfigError('TEST_PAYMENTS must not be allow while NODE_ENV is production: set up Stripe');
    }
    return false;
  }
  if (choice !== undefined) {
    return choice === 'allow';
  }
  const { host, publicUrl, listenSocket, trustedProxies } = where;
  const isBehindProxy = listenSocket !== null || trustedProxies > 0;
  return isLoopback(host) && isLoopback(new URL(publicUrl).hostname) && !isBehindProxy;
}

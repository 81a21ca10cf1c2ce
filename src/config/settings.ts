import { z } from 'zod';
import { baseUrl, listenHost, requestedUrl, url } from './addresses.ts';
import { oidcVariables } from './oidc-settings.ts';
import { adminToken, namedOperators } from './operator-settings.ts';
import { storageVariables } from './storage-settings.ts';

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ allowed: `${min} to ${max}` });

const secret = z.string().min(32, 'must have at least 32 characters; make one with: openssl rand -hex 32');

/** A secret counts with the spaces around it, but people also write them after commas: such a part is tried in both ways. */
const previousSecrets = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => [...new Set([part, part.trim()])]))
  .refine(
    (parts) => parts.every((part) => part.length >= 32),
    'must be secrets of at least 32 characters each, separated by commas',
  );

const corsOrigins = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
    'must be origins such as https://app.example.com, separated by commas, or *',
  );

/** Returns whether a text has the form of a browser's Origin header: scheme, host and port, no path, no trailing slash. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}

/** The environment variables of a process. `docs/reference/settings.md` is generated from the descriptions. */
export const SETTINGS = z.object({
  PORT: integer(0, 65_535)
    .default(8080)
    .describe('port that the API listens on; 0: any free one (not with `npm start`)'),
  HOST: listenHost.default('127.0.0.1').describe('address that the API listens on'),
  METRICS_HOST: listenHost
    .optional()
    .describe(
      'private address for monitoring, if Prometheus cannot reach `HOST`: the API also listens there, on the same port, and serves only `/healthz`, `/readyz` and `/metrics`; a worker serves its page there',
    ),
  LISTEN_SOCKET: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .max(100, 'must have at most 100 characters')
    .optional()
    .meta({ allowed: 'an absolute path, at most 100 characters' })
    .describe('Unix socket that the API also listens on, for a proxy on the same host'),
  API_PROCESSES: integer(1, 256)
    .optional()
    .describe(
      'number of API processes that one command runs behind one port and socket; each has its own `DATABASE_CONNECTIONS`, memory and admission ([sizing](../sizing.md)); default: one less than the number of cores, at least 1',
    ),
  PUBLIC_URL: baseUrl
    .optional()
    .describe('base of the links that clients get; default: built from `HOST` and `PORT`'),
  DATABASE_URL: z.string().min(1).describe('Postgres 14 or newer, as the application role'),
  REDIS_URL: z.string().min(1).describe('Redis 6.2 or newer, or Valkey, with `maxmemory-policy noeviction`'),
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, `-` and `_`')
    .default('tollgate')
    .meta({ allowed: '1 to 40 letters, digits, `-`, `_`' })
    .describe(
      'prefix of every name in Redis: a different one for each installation that shares a Redis, the same for the API and the workers',
    ),
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
      'folder for daily fingerprints of [the books](../books.md); the same for the API and the workers',
    ),
  BOOKS_ROOTS_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe(
      'with `BOOKS_ROOTS_DIR` and `S3_*`: a bucket of that store which gets a copy of each file; preferably with object lock',
    ),
  BOOKS_ROOTS_WEBHOOK: requestedUrl
    .optional()
    .describe('with `BOOKS_ROOTS_DIR`: URL that each file is posted to'),
  TOLLGATE_CONFIG: z
    .string()
    .min(1)
    .default('./tollgate.yaml')
    .describe('the [catalog](tollgate-yaml.md); reloaded when it changes and on SIGHUP'),
  TOLLGATE_SECRET: secret
    .meta({ allowed: '32 characters or more' })
    .describe('root of the keys that sign media links and encrypt stored answers and webhook secrets'),
  TOLLGATE_SECRET_PREVIOUS: previousSecrets
    .default([])
    .meta({ allowed: '32 characters or more each, separated by commas' })
    .describe('former secrets; what was signed or encrypted under them is still accepted'),
  ADMIN_TOKEN: adminToken
    .meta({ allowed: '24 characters or more' })
    .describe('bearer token of the operator that the audit log calls `operator`'),
  ADMIN_TOKENS: z
    .string()
    .transform(namedOperators)
    .default([])
    .meta({ allowed: '`name:token`, separated by commas; names of up to 64 letters, digits, `-`, `_`' })
    .describe('one token per person; the audit log names them'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('how much is logged'),
  DATABASE_CONNECTIONS: integer(4, 500)
    .default(20)
    .describe(
      'maximum connections per process; a worker, and an API that workers without a database use, opens one more to listen',
    ),
  LEDGER_PLANS: z
    .enum(['kept', 'fresh'], 'must be kept or fresh')
    .default('kept')
    .describe(
      '`fresh`: plans small batches of calls every time, for a database that cannot reuse plans ([Citus](../scaling.md)); a single hold then takes two thirds longer',
    ),
  TOLLGATE_CELLS: z
    .literal('1', 'must be 1: several cells are not supported yet, see docs/scaling.md')
    .default('1')
    .describe('number of [cells](../scaling.md) that accounts are spread over'),
  TRUSTED_PROXIES: integer(0, 10)
    .default(0)
    .describe('number of proxies in front whose `X-Forwarded-For` is trusted'),
  STRANGER_CONNECTIONS: integer(1, 10_000)
    .default(200)
    .describe(
      'maximum idle connections from one address that have not presented a valid key; not counted behind a trusted proxy, which has its own limits',
    ),
  CORS_ORIGINS: corsOrigins
    .default([])
    .meta({ allowed: 'origins, separated by commas; `*`: any' })
    .describe('origins whose scripts may call the API from a browser; never with cookies'),
  HTTP_MEDIA_URLS: z
    .enum(['allow', 'refuse'], 'must be allow or refuse')
    .default('refuse')
    .describe(
      '`allow`: images and files of a request may also have `http://` URLs; addresses and names that are not public are rejected either way',
    ),
  DRAIN_SECONDS: integer(0, 3_600)
    .default(30)
    .describe('seconds that running calls and jobs get to finish after SIGTERM'),
  FFMPEG_PATH: z
    .string()
    .min(1)
    .default('ffmpeg')
    .describe('path of ffmpeg; `npm start` falls back to a packaged one'),
  FFPROBE_PATH: z.string().min(1).default('ffprobe').describe('path of ffprobe, with the same fallback'),
  WORKER_PORT: integer(0, 65_535)
    .default(0)
    .describe("a worker's page with `/healthz`, `/readyz` and `/metrics`; 0: any free port"),
  WORKER_NAME: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be a name of letters, digits, dots and dashes')
    .optional()
    .meta({ allowed: '1 to 63 letters, digits, dots, dashes' })
    .describe(
      "name of a worker's host: what failed on one host is retried on another; default: the hostname",
    ),
  WORKER_API: baseUrl
    .optional()
    .describe(
      'URL of the API: with it a worker needs no database, no Redis and no secret but `WORKER_TOKEN`, and only runs engines ([GPU hosts](../gpu-hosts.md))',
    ),
  WORKER_TOKEN: z
    .string()
    .min(32, 'must be a token made by: tollgate worker-tokens create')
    .optional()
    .meta({ allowed: 'a token made by `tollgate worker-tokens create`' })
    .describe('authenticates such a worker to the API'),
  PREEMPTION_FILE: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .optional()
    .meta({ allowed: 'an absolute path' })
    .describe(
      'while this file exists, a worker takes no new work, because its host is about to be taken away ([GPU hosts](../gpu-hosts.md))',
    ),
  PREEMPTION_URL: requestedUrl
    .optional()
    .describe(
      "the same while this URL (a cloud's metadata server) returns 200 with anything but FALSE or NONE",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'])
    .optional()
    .describe('URL that traces are sent to; no traces if unset'),
  OTEL_TRACES_SAMPLER: z
    .enum(
      [
        'parentbased_always_on',
        'parentbased_traceidratio',
        'parentbased_always_off',
        'always_on',
        'traceidratio',
        'always_off',
      ],
      "must be one of OpenTelemetry's samplers, e.g. parentbased_traceidratio",
    )
    .default('parentbased_always_on')
    .describe("which traces are kept; `parentbased_`: a caller's `traceparent` decides for its own trace"),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine(
      (text) => text.trim() !== '' && Number(text) >= 0 && Number(text) <= 1,
      'must be a number from 0 to 1',
    )
    .transform(Number)
    .optional()
    .meta({ allowed: '0 to 1' })
    .describe('with a `traceidratio` sampler: the share of traces that is kept; default: 1'),
  GRAFANA_URL: url(['http:', 'https:'])
    .optional()
    .describe("URL of the service's dashboards; the operators' console links to it"),
  KEEP_PROMPTS: z
    .enum(['no', 'yes'], 'must be no or yes')
    .default('no')
    .describe(
      '`yes`: the order of a task is kept after its end, so that it can be retried: as long as its files if it succeeded, otherwise as long as its row',
    ),
  WEBHOOK_PRIVATE_TARGETS: z
    .enum(['allow', 'refuse'])
    .default('refuse')
    .describe('whether webhooks may go to private addresses; `allow` only for development'),
  TEST_PAYMENTS: z
    .enum(['allow', 'refuse'], 'must be allow or refuse')
    .optional()
    .describe(
      'without Stripe and outside production: a payment page that grants credits without payment; default: `allow` only where `HOST` and `PUBLIC_URL` are loopback and there is no proxy',
    ),
  STRIPE_SECRET_KEY: z
    .string()
    .min(16)
    .optional()
    .meta({ allowed: '16 characters or more' })
    .describe('[takes payments](../payments.md); set both Stripe settings or neither'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .meta({ allowed: '16 characters or more' })
    .describe('verifies that payment events come from Stripe'),
  ...oidcVariables,
  ...storageVariables,
  NODE_ENV: z
    .enum(['production', 'development', 'test'], 'must be production, development or test')
    .default('development')
    .describe(
      '`production`: without Stripe nothing can be bought, and a stopping process first waits for its load balancer to notice',
    ),
});

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { ConfigError } from './config-error.ts';
import { readEnvironment } from './environment.ts';
import { SETTINGS } from './settings.ts';

/** The configuration of a worker without a database, validated and frozen. */
export interface RemoteWorkerConfig {
  /** Base URL of the API, without a trailing slash. */
  readonly api: string;
  readonly token: string;
  /** Address that its health and metrics page listens on. */
  readonly host: string;
  /** The setting that the address comes from. */
  readonly hostSetting: 'HOST' | 'METRICS_HOST';
  readonly workerPort: number;
  readonly workerName: string;
  readonly dataFolder: string;
  readonly catalogFile: string;
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  readonly logLevel: string;
  /** Time that runs get to finish when the process is asked to stop, in ms. */
  readonly drainMs: number;
  readonly preemption: { readonly file: string | null; readonly url: string | null };
  /** The variables that tollgate.yaml may refer to as ${NAME}. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const OWN = SETTINGS.pick({
  WORKER_API: true,
  WORKER_TOKEN: true,
  HOST: true,
  METRICS_HOST: true,
  WORKER_PORT: true,
  WORKER_NAME: true,
  DATA_DIR: true,
  TOLLGATE_CONFIG: true,
  FFMPEG_PATH: true,
  FFPROBE_PATH: true,
  LOG_LEVEL: true,
  DRAIN_SECONDS: true,
  PREEMPTION_FILE: true,
  PREEMPTION_URL: true,
}).required({ WORKER_API: true, WORKER_TOKEN: true });

/** Returns whether the environment asks for a worker without a database. */
export function isRemoteWorker(environment: NodeJS.ProcessEnv): boolean {
  return (environment.WORKER_API ?? '') !== '';
}

/** Reads and validates the environment. Throws {@link ConfigError}. */
export function loadRemoteWorkerConfig(environment: NodeJS.ProcessEnv): RemoteWorkerConfig {
  const present: Record<string, string | undefined> = readEnvironment(environment);
  const stray = ['DATABASE_URL', 'REDIS_URL'].find((name) => present[name] !== undefined);
  if (stray !== undefined) {
    throw new ConfigError(
      `${stray} and WORKER_API are both set: a worker uses only one of them; unset the other`,
    );
  }
  const parsed = OWN.safeParse(present);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0]);
    const problem = present[name] === undefined ? 'is not set' : (issue?.message ?? 'is wrong');
    throw new ConfigError(`${name} ${problem}`);
  }
  const settings = parsed.data;
  // the token is only for the API: tollgate.yaml must not be able to put it into a URL
  const { WORKER_TOKEN: token, ...variables } = present;
  return Object.freeze({
    api: settings.WORKER_API.replace(/\/+$/, ''),
    token: token ?? '',
    host: settings.METRICS_HOST ?? settings.HOST,
    hostSetting: settings.METRICS_HOST === undefined ? 'HOST' : 'METRICS_HOST',
    workerPort: settings.WORKER_PORT,
    workerName: settings.WORKER_NAME ?? hostname(),
    dataFolder: resolve(settings.DATA_DIR),
    catalogFile: resolve(settings.TOLLGATE_CONFIG),
    ffmpegPath: settings.FFMPEG_PATH,
    ffprobePath: settings.FFPROBE_PATH,
    logLevel: settings.LOG_LEVEL,
    drainMs: settings.DRAIN_SECONDS * 1_000,
    preemption: { file: settings.PREEMPTION_FILE ?? null, url: settings.PREEMPTION_URL ?? null },
    variables,
  });
}

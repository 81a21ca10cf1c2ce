import { join } from 'node:path';
import { SecretFileError, withSecretFiles } from '../../src/lib/secret-files.ts';
import { errorMessage } from '../embedded/error-code.ts';
import { findFfmpeg } from '../embedded/ffmpeg.ts';
import { tryListen } from '../embedded/free-port.ts';
import { runCommand } from '../embedded/run-command.ts';
import { SettingsFailure, StartFailure } from '../embedded/start-failure.ts';
import { startApplication } from './application.ts';
import { type CatalogModel, readCatalog } from './catalog-file.ts';
import { ownerEnvironment, processEnvironment } from './child-environment.ts';
import {
  prepareDataFolder,
  readOptional,
  readOrCreateAdminToken,
  readOrCreateSecret,
} from './data-folder.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { rotateLogs } from './log-rotation.ts';
import type { Programs } from './programs.ts';
import { runTask } from './run-task.ts';
import { watchServices } from './service-watch.ts';
import { startServices, watchedServices } from './services.ts';
import { localUrl, readSettings, type SupervisorSettings } from './settings.ts';
import { endAtOnce, type Running, shutDown } from './shut-down.ts';
import { watchSources } from './source-watch.ts';
import { listenForStop, Stopped, type StopRequest } from './stop-request.ts';
import type { Terminal } from './terminal.ts';
import { welcomeLines } from './welcome.ts';

export type SupervisorOptions = {
  environment: NodeJS.ProcessEnv;
  root: string;
  mode: 'start' | 'dev';
  programs: Programs;
  terminal: Terminal;
  /** When the command started, in ms since the epoch: for "ready in … s". */
  startedAtMs: number;
};

const MIGRATE_TIMEOUT_MS = 600_000;
const FIRST_START_TIMEOUT_MS = 60_000;
const LOGS = ['api', 'worker', 'postgres', 'redis'];
const BUILD_TIMEOUT_MS = 30_000;
const EXIT_FAILED = 1;
const EXIT_BAD_SETTINGS = 2;
const EXIT_IMPATIENT = 130;

/**
 * Runs Tollgate on this machine until it is asked to stop: services, migration, API and worker. Returns the exit code after
 * everything has stopped in order: the application drains first, then Redis stops, then Postgres. A second Ctrl-C ends the
 * process at once.
 */
export async function supervise(given: SupervisorOptions): Promise<number> {
  const { terminal, environment } = given;
  const running: Running = {};
  const stop = listenForStop(() => {
    endAtOnce(running);
    terminal.close();
    process.exit(EXIT_IMPATIENT);
  }, environment.npm_lifecycle_event !== undefined);
  let code = 0;
  try {
    await start(running, { ...given, environment: withSecretFiles(environment) }, stop);
    const failure = await Promise.race([
      stop.requested,
      running.application?.failed,
      running.serviceWatch?.failed,
    ]);
    if (failure instanceof StartFailure) {
      throw failure;
    }
  } catch (error) {
    // A Ctrl-C also reaches whatever we were just running; its failure is then expected.
    if (!(error instanceof Stopped) && stop.reason() === undefined) {
      code =
        error instanceof SettingsFailure || error instanceof SecretFileError
          ? EXIT_BAD_SETTINGS
          : EXIT_FAILED;
      terminal.failure(failureLine(error));
    }
  }
  const clean = await shutDown(running, terminal);
  stop.dispose();
  terminal.close();
  return clean ? code : EXIT_FAILED;
}

async function start(running: Running, options: SupervisorOptions, stop: StopRequest): Promise<void> {
  const { environment, root, terminal } = options;
  const settings = readSettings(environment, root);
  const models = readCatalog(settings.configFile);
  prepareDataFolder(settings.dataDir);
  const lock = await acquireInstanceLock(settings.dataDir, {
    onWait: () => terminal.print(`  ${terminal.dim('… waiting for the previous instance to stop')}`),
  });
  running.lock = lock;
  running.logRotation = rotateLogs(
    LOGS.map((name) => join(settings.dataDir, 'logs', `${name}.log`)),
    settings.logBytesMax,
  );
  running.drainMs = settings.drainMs;
  if (lock.recovered) {
    terminal.print(`  ${terminal.dim('· the previous run ended unexpectedly; recovering')}`);
  }
  await checkPort(settings);
  const secret = settings.secret ?? readOrCreateSecret(settings.dataDir);
  const adminToken = settings.adminToken ?? readOrCreateAdminToken(settings.dataDir);
  const ffmpeg = findFfmpeg(environment);
  stop.check();
  const context = { settings, environment, root, terminal };
  await startServices(running, context);
  running.serviceWatch = watchServices(watchedServices(running, context), { warn: terminal.warn });
  stop.check();
  const resolved = { settings, services: running, secret, adminToken, ffmpeg };
  const resolvedEnvironment = processEnvironment(environment, resolved);
  await prepareDatabase(running, options, resolvedEnvironment, settings);
  stop.check();
  running.application = startApplication({
    programs: options.programs,
    environment: resolvedEnvironment,
    root,
    dataDir: settings.dataDir,
    terminal,
    verbose: options.mode === 'dev',
    onSpawn: lock.addChild,
  });
  await Promise.race([running.application.ready, stop.requested, failing(running.serviceWatch.failed)]);
  stop.check();
  greet(options, settings, models, running);
  if (options.mode === 'dev') {
    watchAndRestart(running, options);
  }
}

async function prepareDatabase(
  running: Running,
  options: SupervisorOptions,
  environment: NodeJS.ProcessEnv,
  settings: SupervisorSettings,
): Promise<void> {
  const step = options.terminal.step('Database');
  const shared = {
    environment: ownerEnvironment(environment, settings, running),
    cwd: options.root,
    logFile: join(settings.dataDir, 'logs', 'api.log'),
  };
  try {
    step.update('migrating');
    const migrated = await runTask(options.programs.migrate, {
      ...shared,
      label: 'The database migration',
      timeoutMs: MIGRATE_TIMEOUT_MS,
    });
    if (running.postgres !== undefined) {
      await runTask(options.programs.firstStart, {
        ...shared,
        label: 'Creating the first account',
        timeoutMs: FIRST_START_TIMEOUT_MS,
      });
    }
    step.done(summarizeMigration(migrated));
  } catch (error) {
    step.fail();
    throw error;
  }
}

/** Summarizes the migrations: a first start applies a dozen of them, whose names belong in the log. */
function summarizeMigration(line: string): string {
  const names = /^applied: (.+)$/.exec(line)?.[1]?.split(', ');
  if (names === undefined) {
    return line || 'schema is current';
  }
  const functions = names.filter((name) => name.startsWith('functions/')).length;
  const steps = names.length - functions;
  return steps > 0
    ? `schema is current, ${steps} migrations applied`
    : `schema is current, ${functions} function files applied`;
}

/** Turns the failure a promise resolves with into a thrown one. */
async function failing(failed: Promise<StartFailure>): Promise<never> {
  throw await failed;
}

async function checkPort(settings: SupervisorSettings): Promise<void> {
  const { host, port } = settings;
  const problem = await tryListen(host, port);
  if (problem === 'EADDRINUSE') {
    throw new StartFailure(
      `Port ${port} is in use by another program. Stop that program, or start with PORT=${port === 65_535 ? port - 1 : port + 1} npm start`,
    );
  }
  if (problem === 'EACCES') {
    throw new SettingsFailure(
      `Port ${port} needs more privileges than this account has. Set PORT to 1024 or above.`,
    );
  }
  if (problem !== undefined) {
    throw new SettingsFailure(
      `HOST ${host} is not an address of this machine (${problem}). Set HOST=127.0.0.1.`,
    );
  }
}

function greet(
  options: SupervisorOptions,
  settings: SupervisorSettings,
  models: CatalogModel[],
  running: Running,
): void {
  const { terminal, root, environment, startedAtMs } = options;
  const { dataDir } = settings;
  terminal.print(
    ...welcomeLines(
      {
        url: localUrl(settings.host, settings.port),
        folder: environment.INIT_CWD ?? root,
        dataDir,
        models,
        // a file of an earlier embedded database opens no account of another database
        hasOwnerKey: running.postgres !== undefined && readOptional(join(dataDir, 'owner.key')) !== undefined,
        hasTokenFile: settings.adminToken === undefined,
        startedInMs: Date.now() - startedAtMs,
      },
      terminal,
    ),
  );
}

function watchAndRestart(running: Running, options: SupervisorOptions): void {
  let restarting: Promise<void> = Promise.resolve();
  running.stopWatching = watchSources(options.root, ['src', 'queues', 'workers', 'console'], (file) => {
    restarting = restarting.then(async () => {
      if (file.startsWith('console')) {
        await rebuildConsole(options);
      }
      options.terminal.print(`  ${options.terminal.dim(`↻ ${file} changed, restarting`)}`);
      await running.application?.restart();
    });
  });
}

/** Rebuilds the console. If that fails, the previous build stays, and the reason is shown. */
async function rebuildConsole({ root, terminal }: SupervisorOptions): Promise<void> {
  const builder = join(root, 'ops', 'build-console.mjs');
  const result = await runCommand(process.execPath, [builder], { timeoutMs: BUILD_TIMEOUT_MS });
  if (result.code !== 0) {
    terminal.print(
      `  ${result.stderr.split('\n').find((line) => line.includes('ERROR')) ?? 'the console does not build'}`,
    );
  }
}

function failureLine(error: unknown): string {
  const message = errorMessage(error);
  return message.split('\n')[0] ?? message;
}

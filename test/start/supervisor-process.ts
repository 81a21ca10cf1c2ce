import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../factories/eventually.ts';

export type SupervisorProcess = {
  child: ChildProcess;
  output: () => string;
  /** Lines that the stand-ins for API, worker and tasks wrote, in order. */
  events: () => string[];
  ready: () => Promise<unknown>;
  exitCode: () => Promise<number | null>;
};

const RUNNER = fileURLToPath(new URL('fixtures/run-supervisor.ts', import.meta.url));

/** Starts the supervisor in `folder` with stand-ins for API and worker, in a process group of its own. */
export function startSupervisorProcess(
  folder: string,
  environment: Record<string, string> = {},
): SupervisorProcess {
  const catalog = join(folder, 'tollgate.yaml');
  if (!existsSync(catalog)) {
    writeFileSync(catalog, 'models:\n  - { id: acme/small, endpoints: [chat, messages] }\n');
  }
  const eventFile = join(folder, 'events');
  const { TEST_DATABASE_URL: _database, TEST_REDIS_URL: _redis, ...inherited } = process.env;
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), RUNNER], {
    cwd: folder,
    env: { ...inherited, DATABASE_URL: '', REDIS_URL: '', STAND_IN_EVENTS: eventFile, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    output: () => output,
    events: () => (existsSync(eventFile) ? readFileSync(eventFile, 'utf8').trim().split('\n') : []),
    ready: () =>
      eventually(async () => output.includes('is ready at'), 30_000, `"is ready at" in:\n${output}`),
    exitCode: () => exited,
  };
}

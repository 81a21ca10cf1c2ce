import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { compiled } from '../setup/compiled.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Settings = Readonly<Record<string, string>>;

/** How a process that refused to start ended. */
export interface RefusedStart {
  readonly code: number | null;
  /** What it wrote to its error output, line by line. */
  readonly lines: readonly string[];
}

/** Runs an entry point with sound settings but for those given, and returns how it ended. One that does start is killed after a while. */
export async function refusedStart(
  entry: 'src/server.ts' | 'workers/main.ts',
  databaseUrl: string,
  settings: Settings,
): Promise<RefusedStart> {
  const child = spawn(process.execPath, [await compiled(entry)], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      API_PROCESSES: '1',
      DATABASE_URL: databaseUrl,
      REDIS_URL: process.env.TEST_REDIS_URL,
      DATA_DIR: temporaryFolder('refused'),
      TOLLGATE_SECRET: 'a secret of the settings tests, 32 characters',
      ADMIN_TOKEN: 'admin-token-of-the-settings-tests',
      LOG_LEVEL: 'silent',
      ...settings,
    },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code: code as number | null, lines: complaint.trimEnd().split('\n') };
}

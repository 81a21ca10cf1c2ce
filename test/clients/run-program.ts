import { execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const TIMEOUT_MS = 180_000;
/** A cold Rust or Maven cache takes minutes. */
const TOOL_TIMEOUT_MS = 20 * 60_000;
const COMPLAINT_LENGTH = 600;

export interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly input?: string | undefined;
}

/** Runs a program to completion and parses the JSON objects among its output lines. Throws when there are none. */
export async function runProgram<Line>(run: ProgramRun): Promise<Line[]> {
  const child = spawn(run.program, [...run.args], {
    cwd: run.folder,
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
    env: { PATH: process.env.PATH, ...run.environment },
  });
  let said = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  child.stdin.end(run.input ?? '');
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const lines = said.split('\n').filter((text) => text.startsWith('{'));
  if (lines.length === 0) {
    throw new Error(`${run.program} ended without a result: ${said}${complaint}`.slice(0, 500));
  }
  return lines.map((text) => JSON.parse(text) as Line);
}

/** Returns the programs that are not on the PATH. */
export function missingPrograms(programs: readonly string[]): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return programs.filter((name) => !folders.some((folder) => isExecutable(join(folder, name))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs an installer or a compiler to completion, at low priority. Throws the end of its error output. */
export async function runTool(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  try {
    await execute('nice', ['-n', '10', program, ...args], {
      timeout: TOOL_TIMEOUT_MS,
      maxBuffer: 64 * 2 ** 20,
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
    });
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    const complaint = [stdout, stderr].filter(Boolean).join('\n').trim() || String(error);
    throw new Error(`${program} ${args.slice(0, 2).join(' ')}: ${complaint.slice(-COMPLAINT_LENGTH)}`, {
      cause: error,
    });
  }
}

import { spawn } from 'node:child_process';

const TIMEOUT_MS = 60_000;

export interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly input: string | undefined;
}

/** Runs a program to its end and parses the lines of its output that are JSON objects. Throws when there are none. */
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

import { appendFileSync } from 'node:fs';
import { runCommand } from '../embedded/run-command.ts';
import { StartFailure } from '../embedded/start-failure.ts';
import { lastProblem } from './log-line.ts';
import type { Program } from './programs.ts';

/**
 * Runs a program to completion and returns the last line it printed. Its output is kept in `logFile`. Throws StartFailure with
 * its error message when it fails or runs longer than `timeoutMs`.
 */
export async function runTask(
  program: Program,
  options: { label: string; environment: NodeJS.ProcessEnv; cwd: string; logFile: string; timeoutMs: number },
): Promise<string> {
  const result = await runCommand(program.command, program.parameters, {
    cwd: options.cwd,
    env: options.environment,
    timeoutMs: options.timeoutMs,
  });
  appendFileSync(options.logFile, `${result.stdout}${result.stderr}`);
  if (result.code !== 0) {
    const reason = lastProblem(result.stderr) ?? lastProblem(result.stdout) ?? `exit code ${result.code}`;
    throw new StartFailure(`${options.label} failed: ${reason.slice(0, 400)}`);
  }
  return result.stdout.trim().split('\n').at(-1)?.trim() ?? '';
}

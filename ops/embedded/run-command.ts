import { type SpawnOptions, spawn } from 'node:child_process';

export type CommandResult = { code: number; stdout: string; stderr: string };

export type CommandOptions = Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'> & { timeoutMs: number };

const OUTPUT_CHARACTERS_MAX = 200_000;
const REASON_END_CHARACTERS = 250;

/**
 * Runs a program to completion and returns its output. A missing program gives code 127, one that runs longer than `timeoutMs`
 * gives code 124, both with the reason in `stderr`. Never throws.
 */
export function runCommand(
  command: string,
  parameters: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const { timeoutMs, ...spawnOptions } = options;
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    const child = spawn(command, parameters, { ...spawnOptions, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      resolve({ code: 124, stdout, stderr: `${stderr}\n${command} took longer than ${timeoutMs / 1000} s` });
    }, timeoutMs);
    child.stdout.on('data', (chunk: Buffer) => {
      stdout = (stdout + chunk.toString()).slice(-OUTPUT_CHARACTERS_MAX);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-OUTPUT_CHARACTERS_MAX);
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: 127, stdout, stderr: error.message });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, stdout, stderr });
    });
  });
}

/**
 * Returns why a program does not run, in its own words (e.g. the loader names the missing library); undefined when it exits with
 * code 0.
 */
export async function whyNotRunning(
  command: string,
  parameters: readonly string[],
  options: CommandOptions,
): Promise<string | undefined> {
  const { code, stderr } = await runCommand(command, parameters, options);
  if (code === 0) {
    return undefined;
  }
  // the loader's message is at the beginning, the fatal error of a script at the end
  const said = stderr.trim().replaceAll(/\s*\n\s*/g, ' | ');
  const words =
    said.length <= 2 * REASON_END_CHARACTERS
      ? said
      : `${said.slice(0, REASON_END_CHARACTERS)} … ${said.slice(-REASON_END_CHARACTERS)}`;
  return words.includes(command) ? words : `${command}: ${words === '' ? `exit code ${code}` : words}`;
}

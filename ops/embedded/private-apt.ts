import { accessSync, constants, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CommandResult, runCommand } from './run-command.ts';

const UPDATE_TIMEOUT_MS = 180_000;
const SIMULATION_TIMEOUT_MS = 60_000;
export const DOWNLOAD_TIMEOUT_MS = 120_000;

/** Runs one of apt's programs with private package lists. */
export type PrivateApt = (program: string, parameters: string[], timeoutMs: number) => Promise<CommandResult>;

/** Prepares `work` so that apt runs in it without any system privileges. Packages are downloaded to `work/packages`. */
export function openPrivateApt(work: string, environment: NodeJS.ProcessEnv): PrivateApt {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'state', 'packages', 'root']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const options = [
    `Dir::State::Lists=${join(work, 'lists')}`,
    `Dir::State=${join(work, 'state')}`,
    `Dir::State::status=/var/lib/dpkg/status`,
    `Dir::Cache=${join(work, 'cache')}`,
    // As root, apt would switch to an account that cannot enter our folder.
    'APT::Sandbox::User=root',
    'Acquire::Retries=1',
    'Acquire::Languages=none',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
    // System hooks (caches of package tools) write outside our folder.
    'APT::Update::Post-Invoke-Success::=',
    'APT::Update::Post-Invoke::=',
  ].flatMap((option) => ['-o', option]);
  return (program, parameters, timeoutMs) =>
    runCommand(program, ['-q', ...options, ...parameters], {
      cwd: join(work, 'packages'),
      env: { ...environment, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs,
    });
}

/** Downloads the package lists. Returns the reason if that failed, otherwise undefined. */
export async function updateLists(apt: PrivateApt): Promise<string | undefined> {
  const update = await apt('apt-get', ['update'], UPDATE_TIMEOUT_MS);
  // apt-get reports an unreachable server as a warning, with exit code 0.
  return update.code !== 0 || /^[WE]: Failed to fetch/m.test(update.stderr)
    ? `its package lists could not be downloaded (${firstProblem(update)})`
    : undefined;
}

/**
 * Returns the packages that installing `roots` would add to this system: `roots` and all their transitive dependencies that are
 * not installed. `problem` says why apt finds no way to install them; `names` then contains only `roots`.
 */
export async function packagesToInstall(
  apt: PrivateApt,
  roots: readonly string[],
): Promise<{ names: string[]; problem?: string }> {
  const parameters = ['install', '--simulate', '--no-install-recommends', ...roots];
  const result = await apt('apt-get', parameters, SIMULATION_TIMEOUT_MS);
  const missing = [...result.stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  // A C library only works with the loader of the same build, and the loader is the system's.
  const names = [...new Set([...roots, ...missing])].filter((name) => !/^libc6(:|$)/.test(name));
  return result.code === 0 ? { names } : { names, problem: firstProblem(result) };
}

/** Unpacks every downloaded package into `work/root` and deletes it. */
export async function unpackAll(work: string): Promise<void> {
  const folder = join(work, 'packages');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    await runCommand('dpkg', ['-x', join(folder, file), join(work, 'root')], { timeoutMs: 60_000 });
    rmSync(join(folder, file));
  }
}

/** Returns the line of an output that best describes what went wrong. */
export function firstProblem(result: CommandResult): string {
  const lines = `${result.stderr}\n${result.stdout}`.split('\n').map((line) => line.trim());
  const line =
    lines.find((candidate) => /^[EW]: /.test(candidate)) ?? lines.find((candidate) => candidate !== '');
  return (line ?? `exit code ${result.code}`).replace(/^[EW]: /, '').slice(0, 160);
}

/** Returns whether a folder with that path can be created. */
export function canCreate(folder: string): boolean {
  try {
    mkdirSync(dirname(folder), { recursive: true });
    accessSync(dirname(folder), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether the program is on PATH and runs. */
export async function hasProgram(name: string): Promise<boolean> {
  return (await runCommand(name, ['--version'], { timeoutMs: 10_000 })).code === 0;
}

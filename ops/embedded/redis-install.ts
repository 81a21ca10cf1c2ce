import { chmodSync, copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasProgram } from './private-apt.ts';
import type { RedisFetch, RedisSearch } from './redis-search.ts';
import { runCommand } from './run-command.ts';

const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Installs Redis with the system's package manager: apt as root or with a passwordless sudo, else Homebrew. With apt it installs
 * only redis-tools (which contains the same program), because redis-server would start a system service on port 6379. Never
 * throws; returns the reason on failure.
 */
export async function installRedis(search: RedisSearch): Promise<RedisFetch> {
  if (await hasProgram('apt-get')) {
    return await installWithApt(search);
  }
  if (await hasProgram('brew')) {
    return await installWithBrew(search);
  }
  return { reason: process.platform === 'darwin' ? 'none on PATH and Homebrew is not installed' : '' };
}

async function installWithApt(search: RedisSearch): Promise<RedisFetch> {
  const prefix = await privilegedPrefix();
  const folder = search.cacheFolders[0];
  if (prefix === undefined || folder === undefined) {
    return { reason: '' };
  }
  search.onProgress('installing redis-tools with apt-get');
  const [program = '', ...parameters] = [
    ...prefix,
    'apt-get',
    'install',
    '-y',
    '-q',
    '--no-install-recommends',
    'redis-tools',
  ];
  const result = await runCommand(program, parameters, {
    env: { ...search.environment, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  const installed = '/usr/bin/redis-check-rdb';
  if (result.code !== 0 || !existsSync(installed)) {
    return { reason: 'apt-get install redis-tools failed too' };
  }
  mkdirSync(join(folder, 'bin'), { recursive: true });
  mkdirSync(join(folder, 'lib'), { recursive: true });
  copyFileSync(installed, join(folder, 'bin', 'redis-server'));
  chmodSync(join(folder, 'bin', 'redis-server'), 0o755);
  return { folder };
}

/** Returns the command prefix to run something as root; undefined when that would need a password. */
async function privilegedPrefix(): Promise<string[] | undefined> {
  if (process.getuid?.() === 0) {
    return [];
  }
  const sudo = await runCommand('sudo', ['-n', 'true'], { timeoutMs: 10_000 });
  return sudo.code === 0 ? ['sudo', '-n'] : undefined;
}

async function installWithBrew(search: RedisSearch): Promise<RedisFetch> {
  search.onProgress('installing redis with Homebrew');
  const install = await runCommand('brew', ['install', '--quiet', 'redis'], {
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  if (install.code !== 0) {
    return { reason: `brew install redis failed (${install.stderr.trim().split('\n').at(-1) ?? ''})` };
  }
  const prefix = await runCommand('brew', ['--prefix', 'redis'], { timeoutMs: 30_000 });
  const command = join(prefix.stdout.trim(), 'bin', 'redis-server');
  return existsSync(command) ? { command } : { reason: 'Homebrew did not install redis-server' };
}

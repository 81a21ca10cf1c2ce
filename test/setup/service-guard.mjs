// Stops the throwaway servers of a test run and removes their folder as soon as its input closes. The operating
// system closes it however the test run ends, including kill -9.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const folder = process.argv[2] ?? '';

function readPids() {
  const sources = [
    () => Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]),
    () => Number(JSON.parse(readFileSync(join(folder, 'redis.json'), 'utf8')).pid),
    ...readdirSync(folder)
      .filter((name) => name.startsWith('redis-'))
      .map((name) => () => Number(JSON.parse(readFileSync(join(folder, name, 'redis.json'), 'utf8')).pid)),
  ];
  return sources.flatMap((read) => {
    try {
      const pid = read();
      return Number.isInteger(pid) && pid > 1 ? [pid] : [];
    } catch {
      return [];
    }
  });
}

function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function stopAll() {
  const pids = readPids();
  // Nothing in there needs a clean shutdown: SIGQUIT is the immediate shutdown of Postgres.
  for (const pid of pids) {
    signal(pid, 'SIGQUIT');
  }
  const deadline = Date.now() + 3_000;
  while (pids.some((pid) => signal(pid, 0)) && Date.now() < deadline) {
    await sleep(10);
  }
  for (const pid of pids) {
    signal(pid, 'SIGKILL');
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

// Ctrl-C in the terminal is meant for the test run. This process ends after it.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.stdin.resume();
process.stdin.on('error', () => undefined);
process.stdin.once('close', async () => {
  await stopAll();
  process.exit(0);
});

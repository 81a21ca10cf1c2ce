import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { EmbeddedService } from '../embedded/embedded-service.ts';
import { StartFailure } from '../embedded/start-failure.ts';
import { restartPauseMs, type ServiceWatch, type WatchedService, watchServices } from './service-watch.ts';

const PORT = 4_711;

let current: EmbeddedService | undefined;
let starts = 0;
let warnings: string[];
let running: ChildProcess[];
let watch: ServiceWatch | undefined;

beforeEach(() => {
  [current, starts, warnings, running] = [undefined, 0, [], []];
});
afterEach(async () => {
  await watch?.end();
  for (const child of running) {
    child.kill('SIGKILL');
  }
});

/** Starts a process that runs until it is killed, in place of a server. */
async function launch(port = PORT): Promise<EmbeddedService> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  running.push(child);
  return { pid: child.pid!, port, adopted: false, stop: async () => undefined };
}

async function kill(): Promise<void> {
  const child = running.at(-1)!;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Returns a server that calls `onStart` with the number of each start. */
function serverThat(onStart: (number: number) => Promise<EmbeddedService>): WatchedService {
  return {
    name: 'Server',
    logFile: '/logs/server.log',
    current: () => current,
    start: async () => {
      starts += 1;
      current = await onStart(starts);
      return current;
    },
  };
}

function start(service: WatchedService): ServiceWatch {
  watch = watchServices([service], { warn: (text) => warnings.push(text), pauseMs: () => 1, lookMs: 10 });
  return watch;
}

async function untilStarted(times: number): Promise<void> {
  while (starts < times || running.at(-1)?.pid !== current?.pid) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const DISK_FULL = new StartFailure('The disk is full. Free some space.');

test('a failed start is retried until it succeeds', async () => {
  current = await launch();
  start(
    serverThat(async (number) => {
      if (number < 4) {
        throw DISK_FULL;
      }
      return await launch();
    }),
  );
  await kill();
  await untilStarted(4);
  expect(warnings).toEqual([
    'Server exited unexpectedly, restarting it in 0.001 s',
    ...Array.from({ length: 3 }, () => `${DISK_FULL.message} Starting Server again in 0.001 s`),
  ]);
});

test('after five failed starts the watch gives up, and the failure says how often it tried and what was wrong', async () => {
  current = await launch();
  const { failed } = start(serverThat(() => Promise.reject(DISK_FULL)));
  await kill();
  expect(await failed).toEqual(
    new StartFailure(`Gave up after 5 attempts to start Server again. ${DISK_FULL.message}`),
  );
  expect(starts).toBe(5);
});

test('the watch also gives up on a server that exits each time as soon as it runs', async () => {
  current = await launch();
  const { failed } = start(
    serverThat(async () => {
      const service = await launch();
      await kill();
      return service;
    }),
  );
  await kill();
  expect((await failed).message).toBe(
    'Gave up after 5 attempts to start Server again. It exited unexpectedly. See its log: /logs/server.log',
  );
  expect(starts).toBe(5);
});

test('a server on another port is a failure: the programs that use it keep the old address', async () => {
  current = await launch();
  const { failed } = start(serverThat(() => launch(PORT + 1)));
  await kill();
  expect((await failed).message).toContain('was taken by another program');
});

test('the first restart is immediate, later ones follow after 2, 4, 8 and 16 s', () => {
  expect([1, 2, 3, 4, 5].map(restartPauseMs)).toEqual([0, 2_000, 4_000, 8_000, 16_000]);
});

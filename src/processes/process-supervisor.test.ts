import { jest } from '@jest/globals';
import { type KeeperEvents, ProcessSupervisor, type StartProcess } from './process-supervisor.ts';

interface Started {
  readonly slot: number;
  readonly events: Parameters<StartProcess>[1];
  readonly signals: string[];
}

function keeperOf(count: number) {
  const started: Started[] = [];
  const heard: string[] = [];
  const start: StartProcess = (slot, events) => {
    const signals: string[] = [];
    started.push({ slot, events, signals });
    return { end: (signal) => signals.push(signal) };
  };
  const events: KeeperEvents = {
    onReady: (address) => heard.push(`ready ${address}`),
    onCrash: ({ slot, how, pauseMs }) => heard.push(`${slot} ${how}, again in ${pauseMs}`),
    onFailure: ({ slot, how, code }) => heard.push(`${slot} ${how}, over with ${code}`),
  };
  const keeper = new ProcessSupervisor(count, start, events);
  keeper.startAll();
  return { keeper, started, heard };
}

/** A keeper whose processes are all serving. */
function runningKeeper(count: number) {
  const all = keeperOf(count);
  for (const { events } of all.started) {
    events.onReady('here');
  }
  return all;
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

test('reports ready when the last process is', () => {
  const { started, heard } = keeperOf(2);
  started[1]!.events.onReady('here');
  expect(heard).toEqual([]);
  started[0]!.events.onReady('here');
  expect(heard).toEqual(['ready here']);
});

test('a process that ends before all were ready fails the start, with its own code', () => {
  const { started, heard } = keeperOf(2);
  started[0]!.events.onReady('here');
  started[1]!.events.onEnd('ended with code 2', 2);
  expect(heard).toEqual(['2 ended with code 2, over with 2']);
  jest.runAllTimers();
  expect(started).toHaveLength(2);
});

test('a crashed process is restarted after increasing pauses', () => {
  const { started, heard } = runningKeeper(2);
  for (const pauseMs of [500, 1_000, 2_000]) {
    started.at(-1)!.events.onEnd('died', 1);
    expect(heard.at(-1)).toBe(`2 died, again in ${pauseMs}`);
    jest.advanceTimersByTime(pauseMs - 1);
    expect(started.at(-1)!.signals).toEqual([]);
    const before = started.length;
    jest.advanceTimersByTime(1);
    expect(started).toHaveLength(before + 1);
  }
});

test('a process that has served for a while is restarted soon', () => {
  const { started, heard } = runningKeeper(2);
  started[1]!.events.onEnd('died', 1);
  jest.advanceTimersByTime(500);
  started[2]!.events.onReady('here');
  jest.advanceTimersByTime(10_000);
  started[2]!.events.onEnd('died', 1);
  expect(heard.at(-1)).toBe('2 died, again in 500');
});

test('the pause is at most half a minute', () => {
  const { started, heard } = runningKeeper(2);
  for (let time = 0; time < 9; time += 1) {
    started.at(-1)!.events.onEnd('died', 1);
    jest.advanceTimersByTime(30_000);
  }
  expect(heard.at(-1)).toBe('2 died, again in 30000');
});

test('fails when no process is left, never with code 0', () => {
  const { started, heard } = runningKeeper(2);
  started[0]!.events.onEnd('was ended by SIGKILL', 1);
  started[1]!.events.onEnd('ended with code 0', 0);
  expect(heard.at(-1)).toBe('2 ended with code 0, over with 1');
});

test('a process that is being restarted still counts as running', () => {
  const { started, heard } = runningKeeper(2);
  started[0]!.events.onEnd('died', 1);
  jest.advanceTimersByTime(500);
  started[1]!.events.onEnd('died', 1);
  expect(heard.at(-1)).toBe('2 died, again in 500');
});

test('a process that does not become ready is killed', () => {
  const { started } = keeperOf(2);
  started[0]!.events.onReady('here');
  jest.advanceTimersByTime(60_000);
  expect(started.map(({ signals }) => signals)).toEqual([[], ['SIGKILL']]);
});

test('leaving waits for all processes and starts none', async () => {
  const { keeper, started, heard } = runningKeeper(3);
  started[0]!.events.onEnd('died', 1);
  let left = false;
  const leaving = keeper.leave().then(() => {
    left = true;
  });
  started[1]!.events.onEnd('ended with code 0', 0);
  await Promise.resolve();
  expect(left).toBe(false);
  started[2]!.events.onEnd('ended with code 0', 0);
  await leaving;
  jest.runAllTimers();
  expect(started).toHaveLength(3);
  expect(heard).toHaveLength(2);
});

test('leaving ends processes that are not serving yet at once, which is not a failure', async () => {
  const { keeper, started } = keeperOf(2);
  started[0]!.events.onReady('here');
  const leaving = keeper.leave();
  expect(started.map(({ signals }) => signals)).toEqual([[], ['SIGTERM']]);
  started[1]!.events.onEnd('was ended by SIGTERM', 1);
  started[0]!.events.onEnd('ended with code 0', 0);
  await leaving;
});

test('leaving rejects when a process ends with an error', async () => {
  const { keeper, started } = runningKeeper(2);
  const leaving = keeper.leave();
  started[0]!.events.onEnd('ended with code 1', 1);
  started[1]!.events.onEnd('ended with code 0', 0);
  await expect(leaving).rejects.toThrow('API process 1 ended with code 1');
});

test('endRest kills running processes, but only while leaving', () => {
  const { keeper, started } = runningKeeper(2);
  keeper.endRest();
  expect(started.map(({ signals }) => signals)).toEqual([[], []]);
  void keeper.leave();
  keeper.endRest();
  expect(started.map(({ signals }) => signals)).toEqual([['SIGKILL'], ['SIGKILL']]);
});

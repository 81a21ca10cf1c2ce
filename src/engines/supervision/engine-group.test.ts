import { expect, test } from '@jest/globals';
import type { Engine, EngineRequest } from '../engine.types.ts';
import { EngineGroup, type GroupMember } from './engine-group.ts';

const { signal } = new AbortController();
const DEVICE = { device: 'cuda:0', totalBytes: 24e9, freeBytes: 4e9 };

const member = (ready: boolean): GroupMember => ({
  engine: {
    id: 'own',
    readMemory: async () => [DEVICE],
    findMistakes: async () => ['no such node'],
  } as unknown as Engine,
  server: { run: 1, ready },
});

test('reports the GPU memory of a single server only, because several would use the same device name', async () => {
  expect(await new EngineGroup(member(true), []).readMemory(signal)).toEqual([DEVICE]);
  expect(await new EngineGroup(member(false), []).readMemory(signal)).toEqual([]);
  expect(await new EngineGroup(member(true), [member(true)]).readMemory(signal)).toEqual([]);
});

test('asks a ready server what the servers lack', async () => {
  expect(await new EngineGroup(member(false), [member(true)]).findMistakes(signal)).toEqual(['no such node']);
  expect(await new EngineGroup(member(false), []).findMistakes(signal)).toEqual([]);
});

test('prefers an idle server that ran the model last, then one without a model, and never a busy one', async () => {
  const given: string[] = [];
  const serverOf = (name: string): GroupMember => ({
    engine: {
      id: 'own',
      submit: async ({ model }: EngineRequest) => {
        given.push(`${name} ${model}`);
        return 'run';
      },
      cancel: async () => 'stopped',
    } as unknown as Engine,
    server: { run: 1, ready: true },
  });
  const first = serverOf('first');
  const second = serverOf('second');
  const group = new EngineGroup(first, [second]);
  const run = async (model: string) =>
    await group.submit({ model } as EngineRequest, { signal, folder: '', onProgress: () => undefined });
  const over = async (reference: string) => await group.cancel(reference, {} as EngineRequest);
  await over(await run('a'));
  await over(await run('b'));
  await over(await run('b'));
  await over(await run('a'));
  await over(await run('b'));
  expect(given).toEqual(['first a', 'second b', 'second b', 'first a', 'second b']);
  await run('b');
  await run('b');
  expect(given.slice(-2)).toEqual(['second b', 'first b']);
});

test('a restarted server has no model', async () => {
  const given: string[] = [];
  const server = { run: 1, ready: true };
  const engine = {
    id: 'own',
    submit: async () => {
      given.push('restarted');
      return 'run';
    },
    cancel: async () => 'stopped',
  } as unknown as Engine;
  const other = {
    ...member(true),
    engine: { ...member(true).engine, submit: async () => given.push('other') },
  };
  const group = new EngineGroup({ engine, server }, [other as unknown as GroupMember]);
  const context = { signal, folder: '', onProgress: () => undefined };
  await group.cancel(await group.submit({ model: 'a' } as EngineRequest, context), {} as EngineRequest);
  server.run = 2;
  await group.submit({ model: 'b' } as EngineRequest, context);
  expect(given).toEqual(['restarted', 'restarted']);
});

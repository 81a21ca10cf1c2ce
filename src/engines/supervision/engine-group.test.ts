import { expect, test } from '@jest/globals';
import type { Engine } from '../engine.types.ts';
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

test('one server says how full its GPU is, several would name theirs alike', async () => {
  expect(await new EngineGroup(member(true), []).readMemory(signal)).toEqual([DEVICE]);
  expect(await new EngineGroup(member(false), []).readMemory(signal)).toEqual([]);
  expect(await new EngineGroup(member(true), [member(true)]).readMemory(signal)).toEqual([]);
});

test('what the servers lack is asked of one that is ready', async () => {
  expect(await new EngineGroup(member(false), [member(true)]).findMistakes(signal)).toEqual(['no such node']);
  expect(await new EngineGroup(member(false), []).findMistakes(signal)).toEqual([]);
});

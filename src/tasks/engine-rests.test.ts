import { expect, test } from '@jest/globals';
import type { Engine } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import { EngineRests } from './engine-rests.ts';

function restsOf(engine: Pick<Engine, 'isReady' | 'findMistakes'>) {
  const told: unknown[] = [];
  const note = (...line: unknown[]) => void told.push(line[1]);
  const log = { error: note, debug: note, warn: note, info: note } as unknown as Logger;
  const rests = new EngineRests({ find: () => engine as Engine }, log, { probeMs: 1, answerMs: 100 });
  return { rests, told };
}

test('logs in one line what an engine lacks, as soon as its pool is served', async () => {
  const findMistakes = async () => ['node 3: the server has no KSampler', 'node 4: no such checkpoint'];
  const { rests, told } = restsOf({ findMistakes });
  await rests.restUntilReady('comfy');
  expect(told).toEqual([
    'the engine lacks what its entry in tollgate.yaml needs: node 3: the server has no KSampler; node 4: no such checkpoint',
  ]);
  expect(rests.isResting('comfy')).toBe(false);
});

test('asks an engine that comes later once it is there, and serves one that cannot say what it lacks', async () => {
  let answers = 0;
  let isBack = (): void => undefined;
  const back = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  const { rests, told } = restsOf({
    isReady: async () => ++answers > 2,
    findMistakes: async () => {
      isBack();
      throw new Error('no such route');
    },
  });
  await rests.restUntilReady('comfy');
  expect(rests.isResting('comfy')).toBe(true);
  await back;
  expect(rests.isResting('comfy')).toBe(false);
  expect(told.filter((line) => String(line).startsWith('the engine lacks'))).toEqual([]);
  rests.close();
});

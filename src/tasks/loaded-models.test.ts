import { expect, test } from '@jest/globals';
import type { EngineCapabilities } from '../engines/engine.types.ts';
import type { RestListener } from './engine-rests.ts';
import { LoadedModels } from './loaded-models.ts';

function setUp(slots: number, capabilities: Partial<EngineCapabilities> = { paid: false }) {
  let rest: RestListener = () => undefined;
  const engines = { find: () => ({ capabilities }), slots: () => slots };
  const loaded = new LoadedModels(engines as unknown as ConstructorParameters<typeof LoadedModels>[0], {
    onChange: (listener) => {
      rest = listener;
      return () => undefined;
    },
  });
  const began = (...models: string[]) => {
    for (const upstream_model of models) {
      loaded.began({ pool: 'gpu', parameters: { prompt: '', width: 1, height: 1, upstream_model } });
    }
  };
  return { loaded, began, rest: (resting: boolean) => rest('gpu', resting) };
}

test('the models that ran last count as loaded, one per slot', () => {
  const { loaded, began } = setUp(2);
  expect(loaded.of('gpu')).toEqual([]);
  began('a', 'b', 'b');
  expect(loaded.of('gpu')).toEqual(['a', 'b']);
  began('a', 'c');
  expect(loaded.of('gpu')).toEqual(['a', 'c']);
});

test('a pool with one model has no preference, and a mixed one keeps it with a single slot', () => {
  const { loaded, began } = setUp(1);
  began('a', 'a');
  expect(loaded.of('gpu')).toEqual([]);
  began('b', 'b');
  expect(loaded.of('gpu')).toEqual(['b']);
});

test('an engine that goes away has nothing loaded; hosted and algorithmic engines never have', () => {
  const { loaded, began, rest } = setUp(1);
  began('a', 'b');
  rest(false);
  expect(loaded.of('gpu')).toEqual(['b']);
  rest(true);
  expect(loaded.of('gpu')).toEqual([]);
  for (const capabilities of [{ paid: true }, { paid: false, algorithmic: true }]) {
    const other = setUp(1, capabilities);
    other.began('a', 'b');
    expect(other.loaded.of('gpu')).toBeUndefined();
  }
});

import { expect, test } from '@jest/globals';
import type { Engine } from './engine.types.ts';
import { buildEngines, type EngineKind, type EngineSettings, EngineSettingsError } from './registry.ts';

function kind(cancelRunning: boolean, slotsDefault = 2, paid = false): EngineKind {
  return {
    slotsDefault,
    create: ({ id }) =>
      ({ id, capabilities: { cancelRunning, paid }, close: async () => undefined }) as unknown as Engine,
  };
}

const KINDS = new Map([
  ['builtin', kind(true)],
  ['remote', kind(false, 20)],
  ['sold', kind(true, 20, true)],
]);

test('builds one pool per engine, with its slots: as set, one per GPU, or the default of the kind', () => {
  const entries: EngineSettings[] = [
    { id: 'local', kind: 'builtin' },
    { id: 'gpu', kind: 'builtin', slots: 'auto' },
    { id: 'far', kind: 'remote', slots: 7 },
    { id: 'sold', kind: 'sold' },
  ];
  const registry = buildEngines(entries, KINDS, 4);
  expect(registry.names.map((name) => [name, registry.slots(name)])).toEqual([
    ['local', 2],
    ['gpu', 4],
    ['far', 7],
    ['sold', 20],
  ]);
  expect(registry.stoppable).toEqual(['local', 'gpu', 'sold']);
  expect(registry.discardable).toEqual(['local', 'gpu']);
  expect(registry.find('nobody')).toBeUndefined();
  expect(registry.slots('nobody')).toBe(0);
  expect(buildEngines(entries, KINDS, 0).slots('gpu')).toBe(1);
});

test.each([
  [[{ id: 'a', kind: 'magic' }], 'engines[0].kind'],
  [
    [
      { id: 'a', kind: 'builtin' },
      { id: 'a', kind: 'remote' },
    ],
    'engines[1].id',
  ],
  [[{ id: 'a', kind: 'builtin', slots: 0 }], 'engines[0].slots'],
  [[{ id: 'a', kind: 'builtin', slots: 'many' }], 'engines[0].slots'],
])('%j is rejected, naming %s', (entries, place) => {
  expect(() => buildEngines(entries, KINDS, 1)).toThrow(EngineSettingsError);
  expect(() => buildEngines(entries, KINDS, 1)).toThrow(place);
});

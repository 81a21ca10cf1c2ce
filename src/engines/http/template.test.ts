import { expect, test } from '@jest/globals';
import { fillPath, fillTemplate, unknownPlaceholder, valueAt } from './template.ts';

const VALUES = { prompt: 'say {seed} "now"', width: 1280, seed: 7, model: 'acme/a b', 'size.aspect': '16:9' };

test('values keep their types, longer strings stay strings, and missing values are omitted', () => {
  const template = {
    input: { prompt: '{prompt}', seed: '{seed}', steps: '{steps}', size: '{width}x', ratio: '{size.aspect}' },
    list: ['{seed}', '{steps}', true],
    text: '{seed.text}',
  };
  expect(fillTemplate(template, VALUES)).toEqual({
    input: { prompt: 'say {seed} "now"', seed: 7, size: '1280x', ratio: '16:9' },
    list: [7, true],
    text: '7',
  });
});

test('each value in a path is one segment; only models and references may have several', () => {
  const values = { ...VALUES, model: 'acme/a-b' };
  expect(fillPath('/v1/{model}/runs/{reference}', { ...values, reference: '../x?y' })).toBe(
    '/v1/acme/a-b/runs/..%2Fx%3Fy',
  );
  expect(fillPath('/v1/{reference}', { reference: 'models/veo/operations/1' })).toBe(
    '/v1/models/veo/operations/1',
  );
});

test('reports a placeholder that nothing fills', () => {
  expect(unknownPlaceholder({ a: ['{prompt}', { b: 'x{sed}' }] })).toBe('sed');
  expect(unknownPlaceholder({ a: '{size.aspect}', b: '{ not one }' })).toBeUndefined();
});

test('finds the value at a path', () => {
  const json = { output: [{ url: 'https://x' }], id: 3 };
  expect([valueAt(json, 'output.0.url'), valueAt(json, 'id'), valueAt(json, 'output.1.url')]).toEqual([
    'https://x',
    3,
    undefined,
  ]);
  expect(valueAt(json, 'constructor.name')).toBeUndefined();
});

import { expect, test } from '@jest/globals';
import { nanoUsd } from '../lib/money.ts';
import { readParameters, storeParameters, type TaskParameters } from './task-parameters.ts';

const PARAMETERS: TaskParameters = {
  prompt: 'a "river" — 川',
  width: 257,
  height: 1_535,
  steps: 20,
  seconds: undefined,
  upstreamModel: 'z-image-turbo',
  base64Output: true,
  chargeLines: { request: nanoUsd(1n), image: nanoUsd(9_007_199_254_740_993n) },
};

test('parameters stored as JSON are read back unchanged, including amounts beyond 2^53', () => {
  const json: unknown = JSON.parse(JSON.stringify(storeParameters(PARAMETERS)));
  expect(readParameters(json)).toEqual(PARAMETERS);
  const without = { ...PARAMETERS, steps: undefined };
  expect(readParameters(JSON.parse(JSON.stringify(storeParameters(without))))).toEqual(without);
});

test('rejects a row that this code did not write', () => {
  expect(() => readParameters({ prompt: 'x' })).toThrow();
  expect(() => readParameters(null)).toThrow();
});

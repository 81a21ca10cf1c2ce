import { expect, test } from '@jest/globals';
import { redactForOperators } from './redaction.ts';

const PROMPT = 'a "red" lighthouse at dusk, painted in oil, by the sea';

test.each([
  [
    `400 {"prompt":${JSON.stringify(PROMPT)}} Value not in list`,
    '400 {"prompt":"[prompt]"} Value not in list',
  ],
  [`cannot draw ${PROMPT}`, 'cannot draw [prompt]'],
  ['cut off: lighthouse at dusk, painted in…', 'cut off:[prompt]…'],
  [
    "CheckpointLoaderSimple: 'sea.safetensors' not in list",
    "CheckpointLoaderSimple: 'sea.safetensors' not in list",
  ],
  ['401 Bearer abcdef is wrong', '401 [key] is wrong'],
  ['the token eyJhbGciOi.eyJpc3MiOi.c2lnbmVk has expired', 'the token [key] has expired'],
])('%s', (said, told) => {
  expect(redactForOperators(said, PROMPT)).toBe(told);
});

test('an empty prompt masks nothing', () => {
  expect(redactForOperators('500 no', '')).toBe('500 no');
});

import { isTried, matches, modelKind, pricesOf } from './model-kind.ts';

const TOKENS = { prompt: '0.000001', completion: '0.000002' };
const REST = { request: '0', image: '0', web_search: '0', internal_reasoning: '0.000002' };
const pricing = { ...TOKENS, ...REST, input_cache_read: '0.0000005', input_cache_write: '0.000001' };

test('a model is for what its endpoints say, and for chats where they say messages', () => {
  expect(modelKind({ endpoints: ['chat', 'messages'] })).toBe('chat');
  expect(modelKind({ endpoints: ['messages'] })).toBe('chat');
  expect(modelKind({ endpoints: ['embeddings'] })).toBe('embeddings');
  expect(modelKind({ endpoints: ['video'] })).toBe('video');
});

test('the playground offers what answers at the endpoints that it calls', () => {
  const offered = [['chat', 'messages'], ['image'], ['video'], ['messages'], ['embeddings'], ['rerank']];
  expect(offered.map((endpoints) => isTried({ endpoints }))).toEqual([true, true, true, false, false, false]);
});

test('a text finds a model by id, alias and name, in capitals or not', () => {
  const model = { id: 'acme/small', aliases: ['gpt-tiny'], name: 'Acme Small' };
  expect(['', 'ACME/', ' tiny ', 'me sm'].map((text) => matches(model, text))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(matches(model, 'large')).toBe(false);
});

test('prices of media are those of an order, of its seconds, and of each size with prices of its own', () => {
  const sides = { sizes: null, sides: { min: 256, max: 1920 }, default_size: null, steps: null };
  const media = {
    ...{ ...sides, seconds: [5], price: { request: '0.05', second: '0.1' } },
    price_by_size: { '1920*1080': { request: '0.05', second: '0.2' } },
  };
  const expected = { second: '0.1', '1920*1080.second': '0.2' };
  expect(pricesOf({ endpoints: ['video'], pricing, media })).toEqual({
    ...expected,
    ...{ video: '0.05', '1920*1080.video': '0.05' },
  });
  expect(pricesOf({ endpoints: ['image'], pricing, media })).toEqual({
    ...expected,
    ...{ image: '0.05', '1920*1080.image': '0.05' },
  });
  expect(pricesOf({ endpoints: ['chat'], pricing, media: null })).toEqual(pricing);
});

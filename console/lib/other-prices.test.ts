import { otherPrices } from './other-prices.ts';

const FREE = { prompt: '0', completion: '0', request: '0', image: '0', web_search: '0' };

test('lists what images and seconds cost, also in sizes with prices of their own', () => {
  const film = { ...FREE, second: '0.05', '1920*1080.second': '0.12', '1920*1080.request': '0' };
  expect(otherPrices(film)).toEqual([
    { price: '0.05', item: 'second', size: undefined },
    { price: '0.12', item: 'second', size: '1920*1080' },
  ]);
  expect(otherPrices({ ...FREE, image: '0.02' })).toEqual([
    { price: '0.02', item: 'image', size: undefined },
  ]);
  expect(otherPrices(FREE)).toEqual([]);
});

test('lists prices per token only if they differ from input and output', () => {
  const chat = { ...FREE, prompt: '0.00000015', completion: '0.0000006', internal_reasoning: '0.0000006' };
  const cached = { input_cache_read: '0.000000075', input_cache_write: '0.00000015' };
  expect(otherPrices({ ...chat, ...cached })).toEqual([
    { price: '0.000000075', item: 'input_cache_read', size: undefined },
  ]);
});

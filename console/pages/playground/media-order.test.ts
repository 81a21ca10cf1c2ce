import { firstChoice, orderBody, orderPath, priceOf, sizesOf } from './media-order.ts';

const NO_PRICE = { request: '0', second: '0' };
const FILM = {
  ...{ sizes: ['640*360', '1920*1080'], sides: null, default_size: null, steps: null, seconds: [2, 4] },
  price: { request: '0.01', second: '0.05' },
  price_by_size: { '1920*1080': { request: '0', second: '0.12' } },
};
const VIDEO_FAST = {
  ...{ sizes: ['1280*720', '720*1280'], sides: null, default_size: null, seconds: null },
  ...{
    steps: { min: 2, max: 30, default: null },
    price: { request: '0.04', second: '0' },
    price_by_size: {},
  },
};
const IMAGE_TURBO = {
  ...{ sizes: null, sides: { min: 256, max: 1_536 }, default_size: '1024*1024', steps: null, seconds: null },
  ...{ price: { request: '0.005', second: '0' }, price_by_size: {} },
};
const pricing = {
  ...{ prompt: '0', completion: '0', request: '0.04', image: '0', web_search: '0' },
  ...{ internal_reasoning: '0', input_cache_read: '0', input_cache_write: '0' },
};

test('offers the sizes of the model, and of a range those that fit, also the one that is run again', () => {
  expect(sizesOf(FILM, '999*999')).toEqual(['640*360', '1920*1080']);
  expect(sizesOf(IMAGE_TURBO, '256*300')).toContain('256*300');
  expect(sizesOf(IMAGE_TURBO, '2000*2000')).not.toContain('2000*2000');
  expect(sizesOf({ ...IMAGE_TURBO, default_size: null, sides: { min: 2_000, max: 4_000 } })).toEqual([
    '2000*2000',
    '4000*4000',
  ]);
});

test('starts with what is wanted where the model offers it, and with its defaults elsewhere', () => {
  expect(firstChoice(FILM, {})).toEqual({ size: '640*360', steps: '', seconds: '2' });
  expect(firstChoice(FILM, { size: '1920*1080', steps: '8', seconds: '4' })).toEqual({
    ...{ size: '1920*1080', steps: '', seconds: '4' },
  });
  expect(firstChoice(FILM, { size: '1280*720', seconds: '9' })).toEqual(firstChoice(FILM, {}));
  expect(firstChoice(VIDEO_FAST, {})).toEqual({ size: '1280*720', steps: '12', seconds: '' });
  expect(firstChoice(VIDEO_FAST, { steps: '31' }).steps).toBe('12');
  expect(firstChoice(VIDEO_FAST, { steps: '4' }).steps).toBe('4');
  expect(firstChoice({ ...VIDEO_FAST, steps: { min: 20, max: 40, default: null } }, {}).steps).toBe('20');
});

test('prices an order by its size and its seconds', () => {
  const film = { media: FILM, pricing };
  expect(priceOf(film, firstChoice(FILM, {}))).toBe(110_000_000n);
  expect(priceOf(film, firstChoice(FILM, { size: '1920*1080', seconds: '4' }))).toBe(480_000_000n);
  expect(priceOf({ media: VIDEO_FAST, pricing }, firstChoice(VIDEO_FAST, {}))).toBe(40_000_000n);
  const cheap = { ...VIDEO_FAST, price: { ...NO_PRICE, request: '0.0000000005' } };
  expect(priceOf({ media: cheap, pricing }, firstChoice(cheap, {}))).toBe(1n);
});

test('orders images at the path of the model, videos at one path, with only what the model takes', () => {
  const rest = { prompt: 'waves', seed: '7' };
  expect(orderPath('image', 'acme/photo')).toBe('/v3/async/acme/photo');
  expect(orderPath('video', 'acme/film')).toBe('/v3/async/video-fast');
  expect(orderBody('video', 'acme/film', { ...rest, ...firstChoice(FILM, {}) })).toEqual({
    ...{ model_name: 'acme/film', prompt: 'waves', width: 640, height: 360, seconds: 2, seed: 7 },
  });
  const image = { ...rest, seed: '', ...firstChoice(IMAGE_TURBO, {}) };
  expect(orderBody('image', 'image-turbo', image)).toEqual({
    ...{ prompt: 'waves', size: '1024*1024', seed: -1 },
  });
});

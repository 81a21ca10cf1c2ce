import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { presentModel } from './catalog.presenter.ts';
import { CatalogService } from './catalog.service.ts';
import { parseCatalog } from './parse-catalog.ts';
import { chargeFor, formatPrice, ONE_CALL, parsePrice } from './pricing.ts';

/** A positive price, "0", or undefined. */
const price = fc.option(fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 9n }).map(formatPrice)), {
  nil: undefined,
});
const pricing = (...names: string[]) =>
  fc
    .record(Object.fromEntries(names.map((name) => [name, price])))
    .map((prices) => JSON.stringify(Object.fromEntries(Object.entries(prices).filter(([, text]) => text))));
const count = fc.nat(1_000_000);
const usage = fc
  .record({ plain: count, read: count, write: count, visible: count, reasoning: count })
  .map(({ plain, read, write, visible, reasoning }) => ({
    inputTokens: plain + read + write,
    outputTokens: visible + reasoning,
    totalTokens: plain + read + write + visible + reasoning,
    cacheReadTokens: read,
    cacheWriteTokens: write,
    reasoningTokens: reasoning,
  }));

function catalogOf(entry: string): CatalogService {
  const text = `{ providers: [{ id: p, protocol: builtin }], engines: [{ id: e, kind: builtin }], models: [${entry}] }`;
  const catalog = parseCatalog(text, 'tollgate.yaml', {});
  return new CatalogService(() => catalog);
}

/** Parses USD text into pico-USD, as a reader of the list would. */
const pico = (text: string): bigint => parsePrice(text) ?? -1n;
const rounded = (sum: bigint): bigint => (sum + 500n) / 1_000n;

describe('the prices that /models publishes are the ones charged', () => {
  test('text: the sum over tokens and call, for every member given, zero or omitted', () => {
    const prices = pricing(
      'prompt',
      'completion',
      'request',
      'internal_reasoning',
      'input_cache_read',
      'input_cache_write',
    );
    fc.assert(
      fc.property(prices, usage, (text, used) => {
        const model = catalogOf(
          `{ id: m, endpoints: [chat], context_length: 9, max_output_tokens: 9, pricing: ${text}, routes: [{ provider: p, model: x }] }`,
        ).find('m')!;
        const { pricing: published } = presentModel(model);
        const cached = used.cacheReadTokens + used.cacheWriteTokens;
        const sum =
          BigInt(used.inputTokens - cached) * pico(published.prompt) +
          BigInt(used.cacheReadTokens) * pico(published.input_cache_read) +
          BigInt(used.cacheWriteTokens) * pico(published.input_cache_write) +
          BigInt(used.outputTokens - used.reasoningTokens) * pico(published.completion) +
          BigInt(used.reasoningTokens) * pico(published.internal_reasoning) +
          pico(published.request);
        expect([published.image, published.web_search]).toEqual(['0', '0']);
        const { amount, lines } = chargeFor(used, ONE_CALL, model.pricing);
        expect(amount).toBe(rounded(sum));
        expect(Object.values(lines).reduce((total, line) => total + line, 0n)).toBe(amount);
      }),
    );
  });

  test('media: the price of the size plus that of each second', () => {
    const bySize = fc.constantFrom('64*64', '128*64');
    fc.assert(
      fc.property(
        fc.constantFrom('image' as const, 'video' as const),
        pricing('request', 'second'),
        pricing('request', 'second'),
        bySize,
        (kind, prices, sized, size) => {
          const text =
            kind === 'video' ? prices : prices.replace(/,?"second":"[^"]+"/, '').replace('{,', '{');
          const other = kind === 'video' ? sized : sized.replace(/,?"second":"[^"]+"/, '').replace('{,', '{');
          const seconds = kind === 'video' ? 7 : undefined;
          const catalog = catalogOf(
            `{ id: m, endpoints: [${kind}], pricing: ${text}, media: { sizes: ["64*64", "128*64"], ${seconds ? 'seconds: [7],' : ''} prices: { "128*64": ${other} } }, routes: [{ engine: e }] }`,
          );
          const { media } = presentModel(catalog.find('m')!);
          const published = media?.price_by_size[size] ?? media?.price;
          const [width = 0, height = 0] = size.split('*').map(Number);
          const sum = pico(published?.request ?? '') + BigInt(seconds ?? 0) * pico(published?.second ?? '');
          const { amount } = catalog
            .orderable('m', kind, { allowedModels: null })
            .charge({ width, height }, seconds);
          expect(amount).toBe(rounded(sum));
        },
      ),
    );
  });
});

test.each([
  ['chat', 'image', 'models[0].pricing.image: is never charged'],
  ['chat', 'web_search', 'models[0].pricing.web_search: is never charged'],
  ['chat', 'second', 'models[0].pricing.second: is only for image and video models'],
  ['image', 'prompt', 'models[0].pricing.prompt: is never charged'],
  ['image', 'second', 'models[0].pricing.second: needs media.seconds'],
  ['video', 'image', 'models[0].pricing.image: a video has no price per image'],
])('rejects a price that a %s model never charges: %s', (endpoint, name, message) => {
  const route = endpoint === 'chat' ? '{ provider: p, model: x }' : '{ engine: e }';
  const entry = `{ id: m, endpoints: [${endpoint}], context_length: 9, max_output_tokens: 9, pricing: { ${name}: "0.1" }, routes: [${route}] }`;
  expect(() => catalogOf(entry)).toThrow(message);
});

import { shortUsd } from './money.ts';
import { type ChatPrices, nanoUsd, perMillion, picoUsd } from './price.ts';
import { t } from './text.ts';

/** A price besides those of input and output, in USD as the API returns it. */
export interface OtherPrice {
  readonly price: string;
  /** What it is the price of: `image`, `second`, `input_cache_read`. */
  readonly item: string;
  /** The size that it is for, e.g. `1920*1080`; undefined = every size without prices of its own. */
  readonly size: string | undefined;
}

/** Prices per token that are listed only if they differ from that of input or output. */
const TOKENS: Readonly<Record<string, 'prompt' | 'completion'>> = {
  input_cache_read: 'prompt',
  input_cache_write: 'prompt',
  internal_reasoning: 'completion',
};

/** Returns whether a price is per token. */
export function isPerToken(item: string): boolean {
  return Object.hasOwn(TOKENS, item);
}

/** Returns what a model costs besides its input and output tokens, without what is free. */
export function otherPrices(prices: Readonly<Record<string, string>>): OtherPrice[] {
  return Object.entries(prices)
    .map(([name, price]) => {
      const [item = '', size] = name.split('.').reverse();
      return { price, item, size };
    })
    .filter(({ price, item }) => {
      const usual = TOKENS[item];
      const isListed = item !== 'prompt' && item !== 'completion' && picoUsd(price) > 0n;
      return isListed && (usual === undefined || price !== prices[usual]);
    });
}

/** Describes every price of a chat model that a call may be charged; those of caches and reasoning only where they differ. */
export function describePrices(prices: ChatPrices): string {
  const others = new Map(otherPrices({ ...prices }).map(({ item, price }) => [item, price]));
  const price = (text: string) => shortUsd(perMillion(text));
  const other = (item: keyof ChatPrices, text: (price: string) => string) => {
    const found = others.get(item);
    return found === undefined ? [] : [text(isPerToken(item) ? price(found) : shortUsd(nanoUsd(found)))];
  };
  const { prompt, completion } = prices;
  return [
    t('{input} in, {output} out per million tokens', { input: price(prompt), output: price(completion) }),
    ...other('input_cache_read', (read) => t('{price} per million read from a cache', { price: read })),
    ...other('input_cache_write', (written) =>
      t('{price} per million written to a cache', { price: written }),
    ),
    ...other('internal_reasoning', (thought) =>
      t('{price} per million reasoning tokens', { price: thought }),
    ),
    ...other('image', (image) => t('{price} per image', { price: image })),
    ...other('request', (call) => t('{price} per call', { price: call })),
  ].join(' · ');
}

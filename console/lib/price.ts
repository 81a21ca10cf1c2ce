/** Prices are decimal text in USD per token with up to twelve decimals, computed as whole pico-USD (1e-12). */
const PRICE = /^(\d+)(?:\.(\d{1,12}))?$/;
const PICO_PER_NANO = 1_000n;
/** Upper bound of the tokens a message costs in addition to its text. */
const MESSAGE_TOKENS = 16;

export function picoUsd(price: string): bigint {
  const match = PRICE.exec(price);
  return match ? BigInt(match[1] ?? '0') * 10n ** 12n + BigInt((match[2] ?? '').padEnd(12, '0')) : 0n;
}

export interface ChatPrices {
  readonly prompt: string;
  readonly completion: string;
  readonly request: string;
  readonly image: string;
  readonly internal_reasoning: string;
  readonly input_cache_read: string;
  readonly input_cache_write: string;
}

/** Returns the maximum number of tokens of texts: a token has at least one byte. */
export function mostTokens(texts: readonly string[]): number {
  const bytes = new TextEncoder();
  return texts.reduce((sum, text) => sum + bytes.encode(text).length + MESSAGE_TOKENS, MESSAGE_TOKENS);
}

/** Returns the maximum cost of a call in nano-USD, rounded up. The service enforces it: it is sent along as x-max-cost. */
export function mostCost(prices: ChatPrices, inputTokens: number, outputTokens: number): bigint {
  const dearest = (...texts: readonly string[]) =>
    texts.map(picoUsd).reduce((most, price) => (price > most ? price : most), 0n);
  const input = BigInt(inputTokens) * dearest(prices.prompt, prices.input_cache_write);
  const output = BigInt(outputTokens) * dearest(prices.completion, prices.internal_reasoning);
  return (input + output + picoUsd(prices.request) + PICO_PER_NANO - 1n) / PICO_PER_NANO;
}

/** Converts a price per token to the price per million tokens, in nano-USD. */
export function perMillion(price: string): bigint {
  return (picoUsd(price) * 1_000_000n) / PICO_PER_NANO;
}

/** Returns a price in nano-USD, without what is smaller. */
export function nanoUsd(price: string): bigint {
  return picoUsd(price) / PICO_PER_NANO;
}

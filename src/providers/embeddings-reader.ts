import { type JsonObject, objectOf, objectsOf } from './json.ts';
import type { ProviderAnswer } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import { inputSide, readChatUsage } from './usage-reading.ts';

/** A vector in base64. Its elements take four bytes each, so its byte length must be a multiple of four. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const FLOAT_BYTES = 4;

/**
 * Reads a response of OpenAI's embeddings API: one vector for each of the `inputs`, in their order, as floats or base64, whichever came.
 * Throws {@link ProviderFailure} `malformed` for anything else, with the usage that it reports.
 */
export function readEmbeddings(wire: JsonObject, inputs: number): ProviderAnswer {
  const data = objectsOf(wire.data).map(({ index, embedding }, place) => ({
    index: typeof index === 'number' ? index : place,
    embedding,
  }));
  data.sort((one, other) => one.index - other.index);
  const whole = data.every(({ index, embedding }, place) => index === place && isVector(embedding));
  const usage = readInputUsage(wire.usage);
  if (!whole || data.length !== inputs) {
    throw new ProviderFailure('malformed', { usage });
  }
  return { wire: { data }, text: '', reasoning: '', finishReason: 'stop', usage };
}

/** Returns the items to embed: a text or a list of tokens is a single item, a list of either is several. */
export function inputsToEmbed(input: unknown): readonly unknown[] {
  return Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
}

/**
 * Returns the input usage alone: vectors are not tokens, so any output a server reports is not billed. Some servers report only the total,
 * which then is the input.
 */
export function readInputUsage(reported: unknown): ProviderAnswer['usage'] {
  const usage = objectOf(reported);
  const isTotal = (usage.prompt_tokens ?? usage.input_tokens ?? 0) === 0;
  const prompt = isTotal ? { prompt_tokens: usage.total_tokens ?? 0 } : {};
  return inputSide(readChatUsage({ completion_tokens: 0, ...usage, ...prompt }));
}

function isVector(embedding: unknown): boolean {
  if (typeof embedding === 'string') {
    return BASE64.test(embedding) && Buffer.byteLength(embedding, 'base64') % FLOAT_BYTES === 0;
  }
  return (
    Array.isArray(embedding) && embedding.length > 0 && embedding.every((float) => Number.isFinite(float))
  );
}

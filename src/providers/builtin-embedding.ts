import { createHash } from 'node:crypto';
import { inputsToEmbed } from './embeddings-reader.ts';
import { type JsonObject, textOf } from './json.ts';
import type { ProviderAnswer } from './provider.types.ts';
import { readRanking } from './rerank-reader.ts';
import { countTokens } from './token-counter.ts';

const DIMENSIONS = 256;

/**
 * Embeddings without a model, by hashing words into the dimensions: texts with words in common are near to each other, which is
 * enough to try a search with. The same text is always the same vector, of length 1.
 */
export function builtinEmbeddings(body: JsonObject): ProviderAnswer {
  const dimensions = typeof body.dimensions === 'number' ? body.dimensions : DIMENSIONS;
  const inputs = inputsToEmbed(body.input);
  const inputTokens = inputs.reduce<number>(
    (sum, input) => sum + (Array.isArray(input) ? input.length : countTokens(textOf(input))),
    0,
  );
  const data = inputs.map((input, index) => ({ index, embedding: vectorOf(wordsOf(input), dimensions) }));
  const nothing = { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return {
    wire: { data },
    text: '',
    reasoning: '',
    finishReason: 'stop',
    usage: { inputTokens, ...nothing },
  };
}

/** The documents by the words that they have in common with the query. */
export function builtinRanking({ query, documents }: JsonObject): ProviderAnswer {
  const texts = Array.isArray(documents) ? documents : [];
  const wanted = vectorOf(wordsOf(query), DIMENSIONS);
  const results = texts.map((text, index) => {
    const vector = vectorOf(wordsOf(text), DIMENSIONS);
    const nearness = wanted.reduce((sum, value, place) => sum + value * (vector[place] ?? 0), 0);
    return { index, relevance_score: (1 + nearness) / 2 };
  });
  const each = countTokens(textOf(query));
  const tokens = texts.reduce((sum: number, text) => sum + each + countTokens(textOf(text)), 0);
  return readRanking({ results, usage: { prompt_tokens: tokens } }, texts.length);
}

function wordsOf(input: unknown): readonly string[] {
  return Array.isArray(input)
    ? input.map(String)
    : (textOf(input)
        .toLowerCase()
        .match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? ['']);
}

function vectorOf(words: readonly string[], dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of words) {
    const digest = createHash('sha256').update(word).digest();
    const place = digest.readUInt32LE(0) % dimensions;
    vector[place] = (vector[place] ?? 0) + (digest.readUInt8(4) % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  // words may cancel each other out; a vector without a direction would be near to nothing
  return length === 0
    ? vector.map((_, place) => (place === 0 ? 1 : 0))
    : vector.map((value) => value / length);
}

import { type JsonObject, objectOf, objectsOf } from './json.ts';
import type { ProviderAnswer } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import { inputSide, readChatUsage } from './usage-reading.ts';

/**
 * Reads the response of a rerank server (Cohere, Jina, vLLM, llama.cpp): document indexes and their scores, best first. Throws
 * {@link ProviderFailure} `malformed` when an index is out of range of the `documents` or appears twice, with the
 * usage that it reports.
 */
export function readRanking(wire: JsonObject, documents: number): ProviderAnswer {
  const usage = usageOf(wire);
  const results = objectsOf(wire.results).map(({ index, relevance_score: score }) => {
    const isPlace = Number.isInteger(index) && Number(index) >= 0 && Number(index) < documents;
    if (!isPlace || !Number.isFinite(score)) {
      throw new ProviderFailure('malformed', { usage });
    }
    return { index: Number(index), relevance_score: Number(score) };
  });
  if (results.length === 0 || new Set(results.map(({ index }) => index)).size !== results.length) {
    throw new ProviderFailure('malformed', { usage });
  }
  results.sort((one, other) => other.relevance_score - one.relevance_score || one.index - other.index);
  return { wire: { results }, text: '', reasoning: '', finishReason: 'stop', usage };
}

/** Jina and vLLM report `usage`, sometimes only its total; Cohere reports `meta.tokens`. */
function usageOf(wire: JsonObject): ProviderAnswer['usage'] {
  const { prompt_tokens: prompt, total_tokens: total } = objectOf(wire.usage);
  const { input_tokens: input } = objectOf(objectOf(wire.meta).tokens);
  const tokens = prompt || total || input;
  return inputSide(readChatUsage({ prompt_tokens: tokens, completion_tokens: 0 }));
}

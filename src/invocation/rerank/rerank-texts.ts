import type { Steps } from '../../lib/steps.ts';
import { type JsonObject, textOf } from '../../providers/json.ts';
import { type InputContent, inputContent } from '../input-content.ts';

/** Returns the documents of a rerank request as texts, in order. */
export function documentTexts(documents: unknown): readonly string[] {
  return Array.isArray(documents) ? documents.map((one) => textOf(one) || textOf(one?.text)) : [];
}

/** Splits an outgoing rerank request into the content to count: the model reads the query with each document. */
export function* rerankContent(body: JsonObject): Steps<InputContent> {
  const texts = documentTexts(body.documents);
  const query = textOf(body.query);
  return {
    ...(yield* inputContent({})),
    text: texts.map((text) => `${query}\n${text}`).join('\n'),
    parts: texts.length,
  };
}

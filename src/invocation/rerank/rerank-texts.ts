import { IgnoredMembers } from '../../http/input/ignored-members.ts';
import type { Steps } from '../../lib/steps.ts';
import { type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { type InputContent, inputContent } from '../input-content.ts';

/** Returns the documents of a rerank request as texts, in order. */
export function documentTexts(documents: unknown): readonly string[] {
  return Array.isArray(documents) ? documents.map((one) => textOf(one) || textOf(one?.text)) : [];
}

/** Returns the paths of members of documents that the model does not read. */
export function unreadMembers(documents: unknown): readonly string[] {
  const unread = new IgnoredMembers();
  for (const document of objectsOf(documents)) {
    for (const name of Object.keys(document)) {
      if (name !== 'text') {
        unread.add(`documents[].${name}`);
      }
    }
  }
  return unread.paths;
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

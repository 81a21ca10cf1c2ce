import { type JsonObject, textOf } from '../../providers/json.ts';

/**
 * Anthropic's citation of a page as OpenAI's annotation of the text from `start` to `end`, in code points of the whole
 * content. Undefined for citations of documents in the request: chat has no word for them.
 */
export function annotationOf(citation: JsonObject, start: number, end: number): JsonObject | undefined {
  const url = textOf(citation.url);
  if (url === '') {
    return undefined;
  }
  const cited = { start_index: start, end_index: end, url, title: textOf(citation.title) };
  return { type: 'url_citation', url_citation: cited };
}

/** Length of a text in code points, which OpenAI's indexes count. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) {
    length += 1;
  }
  return length;
}

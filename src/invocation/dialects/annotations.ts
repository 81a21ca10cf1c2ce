import { type JsonObject, textOf } from '../../providers/json.ts';

/**
 * Translates Anthropic's citation of a page into OpenAI's annotation of the text from `start` to `end`, in code points of the whole
 * content. Returns undefined for citations of documents in the request, which chat cannot express.
 */
export function annotationOf(citation: JsonObject, start: number, end: number): JsonObject | undefined {
  const url = textOf(citation.url);
  if (url === '') {
    return undefined;
  }
  const cited = { start_index: start, end_index: end, url, title: textOf(citation.title) };
  return { type: 'url_citation', url_citation: cited };
}

/** Returns the length of a text in code points, the unit of OpenAI's indexes. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) {
    length += 1;
  }
  return length;
}

import { isObject, type JsonObject, objectsOf, textOf } from '../../providers/json.ts';

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

/** A page that an answer cites. Indexes are those of the cited text, in code points of the whole content; 0 if the provider gives none. */
export interface CitedPage {
  readonly url: string;
  readonly title: string;
  readonly start: number;
  readonly end: number;
  /** What the page says, as far as the provider quotes it. */
  readonly quote: string;
}

/**
 * Returns the pages that a chat answer or chunk cites: OpenAI's annotations of its message or delta, else Perplexity's lists beside it, which
 * each of its chunks repeats.
 */
export function citedPages(wire: JsonObject, said: JsonObject): CitedPage[] {
  const { citations, search_results: results } = wire;
  if (said.annotations === undefined && citations === undefined && results === undefined) {
    return [];
  }
  const cited = objectsOf(said.annotations).map((annotation) =>
    pageOf(isObject(annotation.url_citation) ? annotation.url_citation : annotation),
  );
  const found = objectsOf(results).map(pageOf);
  const named = Array.isArray(citations) ? citations.map((url) => pageOf({ url })) : [];
  const lists = [cited, found, named].map((pages) => pages.filter(({ url }) => url !== ''));
  return lists.find((pages) => pages.length > 0) ?? [];
}

/** Returns what tells the citations of an answer apart: some providers repeat all pages in each chunk. */
export function citationKey({ start, end, url }: CitedPage): string {
  return `${start} ${end} ${url}`;
}

function pageOf({ url, title, start_index, end_index, content }: JsonObject): CitedPage {
  const [start = 0, end = 0] = [start_index, end_index].map((index) =>
    typeof index === 'number' ? index : 0,
  );
  return { url: textOf(url), title: textOf(title), start, end, quote: textOf(content) };
}

/** Translates a page that a chat answer cites into Anthropic's citation. Without Anthropic's own index it means nothing to Claude. */
export function citationOf({ url, title, quote }: CitedPage): JsonObject {
  return { type: 'web_search_result_location', url, title, cited_text: quote, encrypted_index: '' };
}

/** Returns whether a citation is one of {@link citationOf}, which Anthropic would reject. */
export function isForeignCitation(citation: JsonObject): boolean {
  return citation.type === 'web_search_result_location' && textOf(citation.encrypted_index) === '';
}

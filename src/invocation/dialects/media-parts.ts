import { type JsonObject, objectOf, textOf } from '../../providers/json.ts';

const DATA_URL = /^data:([^;,]+)(?:;[^;,=]+=[^;,]*)*;base64,/;

/** An image or document of either dialect. URLs are passed on, never fetched by us. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string };

/** Reads a `data:` or https URL. */
export function sourceOfUrl(url: string): Source {
  const match = DATA_URL.exec(url.slice(0, 256));
  return match
    ? { kind: 'base64', mediaType: match[1] ?? '', data: url.slice(match[0].length) }
    : { kind: 'url', url };
}

/** Reads the `source` of a messages block. Returns undefined for files stored at a provider. */
export function sourceOfBlock(block: JsonObject): Source | undefined {
  const source = objectOf(block.source);
  if (source.type === 'base64') {
    return { kind: 'base64', mediaType: textOf(source.media_type), data: textOf(source.data) };
  }
  return source.type === 'url' ? { kind: 'url', url: textOf(source.url) } : undefined;
}

export function urlOfSource(source: Source): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Returns the `source` member of an image block. Anthropic accepts media types in lower case only, and `image/jpg` not at all. */
export function imageSourceOf(source: Source): JsonObject {
  return encodedSource(source, (mediaType) => (mediaType === 'image/jpg' ? 'image/jpeg' : mediaType));
}

/** Returns the `source` member of a document block. Anthropic accepts PDF as base64, and text only as text. */
export function documentSourceOf(source: Source): JsonObject {
  return source.kind === 'base64' && IS_TEXT.test(source.mediaType)
    ? { type: 'text', media_type: 'text/plain', data: Buffer.from(source.data, 'base64').toString() }
    : encodedSource(source, (mediaType) => mediaType);
}

const IS_TEXT = /^(?:text\/|application\/json$)/i;

function encodedSource(source: Source, typeOf: (mediaType: string) => string): JsonObject {
  return source.kind === 'url'
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: typeOf(source.mediaType.toLowerCase()), data: source.data };
}

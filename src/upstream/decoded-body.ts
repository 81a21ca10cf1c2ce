import { pipeline, type Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import type { HttpAnswer } from './http-client.ts';

/** A body as it came, or decoded. */
export type AnswerBody = HttpAnswer['body'] | Readable;

/** Asks for a body without content codings. Without this header any coding may come, and some servers send one in spite of it. */
export const UNCODED = { 'accept-encoding': 'identity' } as const;

/** Maximum codings of one body. More is an attack. */
const CODINGS_MAX = 3;

/**
 * Returns the body without its content codings, for servers that compress whatever the request accepts. Limits on a body must count what
 * comes out of it: little may become much. A body in an unknown coding is returned as it came. Destroying the result ends the response.
 */
export function decodedBody({ headers, body }: HttpAnswer): AnswerBody {
  const named = headers['content-encoding'];
  if (named === undefined) {
    return body;
  }
  const codings = String(named)
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((coding) => coding !== '');
  // the last coding was applied last
  const decoders = codings.slice(-CODINGS_MAX).reverse().map(decoderOf);
  return decoders.reduce<AnswerBody>(
    // errors are those of the last stream: its reader gets them
    (source, decoder) => (decoder ? pipeline(source, decoder, () => undefined) : source),
    body,
  );
}

function decoderOf(coding: string): Transform | undefined {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'br':
      return zlib.createBrotliDecompress();
    case 'zstd':
      return createZstdDecompress?.();
    default:
      return undefined;
  }
}

/** Absent before Node 22.15. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => Transform };

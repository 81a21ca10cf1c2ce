import { parseRange } from './byte-range.ts';
import type { ByteRange, StoredObject } from './storage.types.ts';

export interface MediaRequestHeaders {
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

export interface MediaResponse {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes to read and send; undefined means the whole object for 200, and nothing for 304 and 416. */
  readonly range?: ByteRange;
}

export interface MediaResponseOptions {
  /** Makes a browser save the file under this name. */
  readonly downloadName: string | undefined;
  /** Seconds until the link expires. Caches keep the file no longer than that. */
  readonly secondsLeft: number;
}

/** Returns the response to a verified request for a stored object. The caller streams the bytes, or none for HEAD. */
export function mediaResponse(
  object: StoredObject,
  request: MediaRequestHeaders,
  options: MediaResponseOptions,
): MediaResponse {
  const etag = `"${object.key.slice(object.key.lastIndexOf('/') + 1)}"`;
  const common = {
    'Accept-Ranges': 'bytes',
    'Cache-Control': `private, max-age=${Math.max(0, Math.floor(options.secondsLeft))}, immutable`,
    'Content-Disposition': options.downloadName ? `attachment; filename="${options.downloadName}"` : 'inline',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cross-Origin-Resource-Policy': 'cross-origin',
    ETag: etag,
    'X-Content-Type-Options': 'nosniff',
  };
  if (request.ifNoneMatch?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) {
    return { status: 304, headers: common };
  }
  // A range of another version must not be combined with what the client has (RFC 9110 §13.1.5).
  const current = request.ifRange === undefined || request.ifRange === etag;
  const answer = parseRange(current ? request.range : undefined, object.bytes);
  if (answer.kind === 'unsatisfiable') {
    return { status: 416, headers: { ...common, 'Content-Range': `bytes */${object.bytes}` } };
  }
  if (answer.kind === 'whole') {
    const headers = {
      ...common,
      'Content-Type': object.mediaType,
      'Content-Length': String(object.bytes),
    };
    return { status: 200, headers };
  }
  const { start, end } = answer.range;
  const headers = {
    ...common,
    'Content-Type': object.mediaType,
    'Content-Length': String(end - start + 1),
    'Content-Range': `bytes ${start}-${end}/${object.bytes}`,
  };
  return { status: 206, headers, range: answer.range };
}

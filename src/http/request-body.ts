import type { IncomingMessage } from 'node:http';
import { AppError } from '../lib/errors.ts';
import { guardJson } from './json-guard.ts';

const JSON_TYPE = /^application\/(?:json|[a-z0-9.+-]{1,60}\+json)$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a request's body into memory. Throws AppError payload_too_large beyond `bytesMax` (in bytes, compressed bodies
 * are not accepted at all: unsupported_media_type).
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', 'compressed request bodies are not supported');
  }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    throw tooLarge(bytesMax);
  }
  return collect(request, bytesMax);
}

function collect(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        // the rest is left to Node, which reads and drops it after the answer, within the server's request timeout
        request.off('data', onData).pause();
        reject(tooLarge(bytesMax));
        return;
      }
      chunks.push(chunk);
    };
    request.on('data', onData);
    request.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes)),
    );
    request.once('error', (cause) =>
      reject(new AppError('invalid_request', 'the body was cut off', { cause })),
    );
  });
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('payload_too_large', `the body is larger than ${bytesMax} bytes`);
}

/** Throws AppError unsupported_media_type unless the request declares JSON in UTF-8. */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (!JSON_TYPE.test(type.trim()) || !isUtf8) {
    throw new AppError('unsupported_media_type', 'the Content-Type must be application/json in UTF-8');
  }
}

/** Parses a body as JSON. Throws AppError invalid_json. */
export function parseJson(bytes: Buffer): unknown {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    throw new AppError(
      'invalid_json',
      bytes.length === 0 ? 'the body is empty' : 'the body is not valid JSON',
    );
  }
  guardJson(value);
  return value;
}

import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';

/** A built file and its compressed variants, in memory. */
export interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly brotli: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
};

/** Reads a file and the compressed variants that the build put beside it. Throws when the file does not exist. */
export function readAsset(file: string): Asset {
  const read = (name: string) => (existsSync(name) ? readFileSync(name) : undefined);
  return {
    type: TYPES[extname(file)] ?? 'application/octet-stream',
    plain: readFileSync(file),
    brotli: read(`${file}.br`),
    gzip: read(`${file}.gz`),
  };
}

/** Sends a file in the smallest encoding that the client accepts. `cacheControl` says how long it may be cached. */
export function sendAsset(
  asset: Asset,
  request: IncomingMessage,
  response: ServerResponse,
  cacheControl: string,
): void {
  const accepted = String(request.headers['accept-encoding'] ?? '');
  const encoding =
    asset.brotli && /\bbr\b/.test(accepted)
      ? 'br'
      : asset.gzip && /\bgzip\b/.test(accepted)
        ? 'gzip'
        : undefined;
  const body =
    (encoding === 'br' ? asset.brotli : encoding === 'gzip' ? asset.gzip : undefined) ?? asset.plain;
  response.setHeader('Content-Type', asset.type);
  response.setHeader('Cache-Control', cacheControl);
  response.setHeader('Vary', 'Accept-Encoding');
  response.setHeader('Content-Length', body.length);
  if (encoding) {
    response.setHeader('Content-Encoding', encoding);
  }
  response.end(request.method === 'HEAD' ? undefined : body);
}

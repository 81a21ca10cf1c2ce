import type { Readable } from 'node:stream';
import type { CallTimeouts } from './call-timeouts.ts';
import { TransportError } from './transport-error.ts';

/**
 * Reads a whole body of at most `bytesMax` bytes. Each chunk restarts the timeout of the call's phase. Rejects with TransportError
 * `too_long` (the rest is not read) or `interrupted`, and with any error of the body.
 */
export function readBody(body: Readable, bytesMax: number, clocks?: CallTimeouts): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    body.on('data', (chunk: Buffer) => {
      clocks?.touch();
      bytes += chunk.length;
      if (bytes > bytesMax) {
        body.destroy(new TransportError('too_long', { sent: true }));
        return;
      }
      chunks.push(chunk);
    });
    body.once('end', () => resolve(Buffer.concat(chunks)));
    body.once('error', reject);
    body.once('close', () => {
      // a body that is destroyed without an error emits neither end nor error
      if (!body.readableEnded) {
        reject(new TransportError('interrupted', { sent: true }));
      }
    });
  });
}

const BYTE_ORDER_MARK = 0xfeff;

/** Decodes UTF-8 without the byte order mark that some servers on Windows begin it with. */
export function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

import type { Readable } from 'node:stream';
import type { CallClocks } from './call-clocks.ts';
import { TransportError } from './transport-error.ts';

/**
 * Reads a whole body of at most `bytesMax` bytes; every piece gives the call's phase its time again. Rejects with TransportError
 * `too_long` (then the rest is not read) or `interrupted`, and with what the body fails with.
 */
export function readBody(body: Readable, bytesMax: number, clocks?: CallClocks): Promise<Buffer> {
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
      // one that is destroyed without a reason neither ends nor fails
      if (!body.readableEnded) {
        reject(new TransportError('interrupted', { sent: true }));
      }
    });
  });
}

import type { Readable } from 'node:stream';
import type { CallTimeouts } from './call-timeouts.ts';
import { TransportError } from './transport-error.ts';

/**
 * Reads a whole body of at most `bytesMax` bytes. Each chunk restarts the timeout of the call's phase. Rejects with TransportError
 * `too_long` (the rest is not read) or `interrupted`, and with any error of the body.
 */
export async function readBody(body: Readable, bytesMax: number, clocks?: CallTimeouts): Promise<Buffer> {
  const limits = { wholeMax: bytesMax, endMax: 0, readMax: bytesMax };
  return (await readBodyOrEnd(body, limits, clocks)).bytes;
}

/** Limits on a body of which at least the end is wanted, in bytes. */
export interface EndLimits {
  /** The longest body that is returned whole. */
  readonly wholeMax: number;
  /** How much of the end is returned of a longer one, at least. */
  readonly endMax: number;
  /** The longest body that is read to its end. */
  readonly readMax: number;
}

/** Reads a body as {@link readBody} does. Of one that is too long to be returned whole, returns the end (`isWhole`: false). */
export function readBodyOrEnd(
  body: Readable,
  { wholeMax, endMax, readMax }: EndLimits,
  clocks?: CallTimeouts,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let keptBytes = 0;
    body.on('data', (chunk: Buffer) => {
      clocks?.touch();
      bytes += chunk.length;
      if (bytes > readMax) {
        body.destroy(new TransportError('too_long', { sent: true }));
        return;
      }
      chunks.push(chunk);
      keptBytes += chunk.length;
      for (let first = chunks[0]; bytes > wholeMax && first; first = chunks[0]) {
        if (keptBytes - first.length < endMax) {
          break;
        }
        keptBytes -= first.length;
        chunks.shift();
      }
    });
    body.once('end', () => resolve({ bytes: Buffer.concat(chunks), isWhole: bytes <= wholeMax }));
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

import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import type { FileDigest } from './file-digest.ts';

/** Passes bytes through and computes their size and SHA-256. Fails with `tooLarge()` beyond `bytesMax`. */
export function digestStream(
  bytesMax: number,
  tooLarge: () => Error,
): { stream: Transform; digest: () => FileDigest } {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        done(tooLarge());
        return;
      }
      hash.update(chunk);
      done(null, chunk);
    },
  });
  return { stream, digest: () => ({ bytes, sha256: hash.digest('hex') }) };
}

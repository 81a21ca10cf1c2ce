import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface FileDigest {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Size and SHA-256 of a local file, read once as a stream. Throws what reading it throws. */
export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

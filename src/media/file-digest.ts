import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileContent } from '../lib/file-content.ts';

export interface FileDigest {
  readonly bytes: number;
  /** Lowercase hex. */
  readonly sha256: string;
}

/** Returns the size and SHA-256 of a file. Streams a file on disk once. Rethrows read errors. */
export async function digestFile(content: FileContent): Promise<FileDigest> {
  const hash = createHash('sha256');
  if (typeof content !== 'string') {
    return { bytes: content.length, sha256: hash.update(content).digest('hex') };
  }
  let bytes = 0;
  for await (const chunk of createReadStream(content) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

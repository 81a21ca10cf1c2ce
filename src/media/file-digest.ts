import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileContent } from '../lib/file-content.ts';

export interface FileDigest {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Size and SHA-256 of a file; one on disk is read once as a stream. Throws what reading it throws. */
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

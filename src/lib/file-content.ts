import { readFile } from 'node:fs/promises';

/** A file being passed on: its path, or its bytes if it is small enough to stay in memory. */
export type FileContent = string | Buffer;

/** Returns the bytes of a file. Rethrows read errors. */
export async function bytesOf(content: FileContent): Promise<Buffer> {
  return typeof content === 'string' ? await readFile(content) : content;
}

import { readFile } from 'node:fs/promises';

/** A file on its way: the path where it lies, or its bytes where it is small enough to stay in memory. */
export type FileContent = string | Buffer;

/** The bytes of a file. Throws what reading it throws. */
export async function bytesOf(content: FileContent): Promise<Buffer> {
  return typeof content === 'string' ? await readFile(content) : content;
}

import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';

/** A log file is renamed to `<name>.1` before it exceeds this many bytes, so a log takes up at most about twice as much. */
export const ENGINE_LOG_BYTES_MAX = 10 * 1024 * 1024;

/**
 * Appends to a file that never grows beyond `bytesMax`: a full one is renamed to `<path>.1`. Write errors such as a full disk lose output
 * but never disturb the engine.
 */
export function cappedLog(path: string, bytesMax = ENGINE_LOG_BYTES_MAX): Writable {
  let file: FileHandle | undefined;
  let bytes = 0;

  async function append(chunk: Buffer): Promise<void> {
    if (file !== undefined && bytes + chunk.length > bytesMax) {
      await file.close();
      file = undefined;
      await rename(path, `${path}.1`);
    }
    if (file === undefined) {
      await mkdir(dirname(path), { recursive: true, mode: 0o750 });
      file = await open(path, 'a', 0o640);
      bytes = (await file.stat()).size;
    }
    await file.write(chunk);
    bytes += chunk.length;
  }

  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      append(chunk).then(
        () => done(),
        () => done(),
      );
    },
    final(done) {
      Promise.resolve(file?.close()).then(
        () => done(),
        () => done(),
      );
    },
  });
}

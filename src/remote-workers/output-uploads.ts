import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../lib/errors.ts';
import { digestStream } from '../media/digest-stream.ts';
import type { Storage } from '../media/storage.types.ts';
import { withTemporaryFolder } from '../media/temporary-folder.ts';
import { uploadBytesMax } from '../media/upload-limits.ts';
import { RAW_FILES, rawKey, rawPartKey } from '../tasks/raw-outputs.ts';
import type { TaskKind } from '../tasks/tasks.types.ts';
import { UPLOAD_PART_BYTES } from './upload-part.ts';

/** An output file of an attempt. */
export interface AttemptOutput {
  readonly id: string;
  readonly attempt: number;
  readonly kind: TaskKind;
  readonly index: number;
}

export interface UploadPart {
  /** Where the part begins in the file, in bytes. */
  readonly offset: number;
  /** Size of the whole file. */
  readonly bytes: number;
  /** Hash of the whole file. */
  readonly sha256: string;
  readonly content: Buffer;
}

export interface UploadState {
  readonly offset: number;
  readonly complete: boolean;
}

/**
 * Receives files from workers on other hosts part by part. Parts are stored as objects next to the file they become, so any replica knows
 * how far an upload is, and the sweep of unlisted files removes abandoned uploads.
 */
export class OutputUploads {
  readonly #storage: Storage;
  readonly #folder: string;

  /** `folder` is where files are assembled. */
  constructor(storage: Storage, folder: string) {
    this.#storage = storage;
    this.#folder = folder;
  }

  async state(output: AttemptOutput): Promise<UploadState> {
    const { id, attempt, kind, index } = output;
    const whole = await this.#storage.stat(rawKey(id, attempt, kind, index));
    if (whole) {
      return { offset: whole.bytes, complete: true };
    }
    const there = new Set<string>();
    for await (const { key } of this.#storage.list(`raw/${id}/${attempt}/`)) {
      there.add(key);
    }
    let parts = 0;
    while (there.has(rawPartKey(id, attempt, kind, index, parts))) {
      parts += 1;
    }
    return { offset: parts * UPLOAD_PART_BYTES, complete: false };
  }

  /**
   * Stores the next part. Ignores any other part and returns the offset to continue at. Assembles the file with the last part. Throws
   * AppError payload_too_large, and invalid_request for a part or a file that does not match what was announced; a mismatched file has to
   * be uploaded again from the start.
   */
  async put(output: AttemptOutput, part: UploadPart): Promise<UploadState> {
    const { mediaType } = RAW_FILES[output.kind];
    const bytesMax = uploadBytesMax(rawKey(output.id, output.attempt, output.kind, output.index));
    if (part.bytes > bytesMax) {
      throw new AppError('payload_too_large', `a file of this kind may have at most ${bytesMax} bytes`);
    }
    if (part.content.length !== Math.min(UPLOAD_PART_BYTES, part.bytes - part.offset)) {
      throw new AppError(
        'invalid_request',
        `the part has the wrong size: every part but the last must have ${UPLOAD_PART_BYTES} bytes`,
      );
    }
    const state = await this.state(output);
    if (state.complete || state.offset !== part.offset) {
      return state;
    }
    const { id, attempt, kind, index } = output;
    const isLast = part.offset + part.content.length === part.bytes;
    if (isLast && part.offset === 0) {
      requireSame(createHash('sha256').update(part.content).digest('hex'), part);
      await this.#storage.putFile(rawKey(id, attempt, kind, index), part.content, mediaType);
      return { offset: part.bytes, complete: true };
    }
    if (isLast) {
      await this.#assemble(output, part);
      return { offset: part.bytes, complete: true };
    }
    const key = rawPartKey(id, attempt, kind, index, part.offset / UPLOAD_PART_BYTES);
    await this.#storage.putFile(key, part.content, mediaType);
    return { offset: part.offset + part.content.length, complete: false };
  }

  async #assemble({ id, attempt, kind, index }: AttemptOutput, last: UploadPart): Promise<void> {
    const parts = Array.from({ length: last.offset / UPLOAD_PART_BYTES }, (_, number) =>
      rawPartKey(id, attempt, kind, index, number),
    );
    const storage = this.#storage;
    async function* content(): AsyncGenerator<Buffer> {
      for (const key of parts) {
        yield* (await storage.read(key)) as AsyncIterable<Buffer>;
      }
      yield last.content;
    }
    try {
      await withTemporaryFolder(this.#folder, 'upload', async (folder) => {
        const path = join(folder, 'body');
        const { stream, digest } = digestStream(last.bytes, () => changed());
        await pipeline(Readable.from(content()), stream, createWriteStream(path, { flags: 'wx' }));
        requireSame(digest().sha256, last);
        await storage.putFile(rawKey(id, attempt, kind, index), path, RAW_FILES[kind].mediaType);
      });
    } catch (error) {
      if (error instanceof AppError) {
        await this.#clear(parts);
      }
      throw error;
    }
    await this.#clear(parts);
  }

  /** Deletes the parts. Leftovers are swept when the task has ended. */
  async #clear(keys: readonly string[]): Promise<void> {
    await Promise.allSettled(keys.map((key) => this.#storage.delete(key)));
  }
}

function requireSame(sha256: string, announced: UploadPart): void {
  if (sha256 !== announced.sha256) {
    throw changed();
  }
}

function changed(): AppError {
  return new AppError('invalid_request', 'the uploaded file does not match the announced size and hash');
}

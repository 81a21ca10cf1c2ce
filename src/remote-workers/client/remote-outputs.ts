import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { FileContent } from '../../lib/file-content.ts';
import { digestFile, type FileDigest } from '../../media/file-digest.ts';
import type { StoredObject } from '../../media/storage.types.ts';
import { StorageError } from '../../media/storage-error.ts';
import { parseRawKey } from '../../tasks/raw-outputs.ts';
import { TaskAbortError } from '../../tasks/task-abort.ts';
import type { UploadState } from '../output-uploads.ts';
import { UPLOAD_PART_BYTES } from '../upload-part.ts';
import type { OutputName, WorkerApiClient } from './worker-api-client.ts';
import { WorkerApiError } from './worker-api-error.ts';

/** Number of times a part is sent before the failure is left to the caller. */
const TRIES = 5;
const AGAIN_MS = 500;

/**
 * Uploads this host's raw output to the API part by part, and resumes after a broken connection from what the API already has. Throws
 * StorageError while the API is away, and TaskAbortError when the claim is lost.
 */
export class RemoteOutputs {
  readonly #api: Pick<WorkerApiClient, 'uploaded' | 'upload'>;

  constructor(api: Pick<WorkerApiClient, 'uploaded' | 'upload'>) {
    this.#api = api;
  }

  async putFile(key: string, content: FileContent, mediaType: string): Promise<StoredObject> {
    const output = parseRawKey(key);
    const file = await digestFile(content);
    const isSmall = file.bytes <= UPLOAD_PART_BYTES;
    let state: UploadState = isSmall
      ? { offset: 0, complete: false }
      : held(await again(() => this.#api.uploaded(output)));
    while (!state.complete) {
      const part = await readPart(content, state.offset, file.bytes);
      const next = await again(() => this.#send(output, state.offset, file, part));
      if (!next.complete && next.offset <= state.offset) {
        throw new StorageError('an upload makes no progress');
      }
      state = next;
    }
    return { key, bytes: file.bytes, mediaType };
  }

  /** Does nothing: the API removes files that no task lists. */
  async delete(): Promise<void> {}

  async #send(output: OutputName, offset: number, file: FileDigest, content: Buffer): Promise<UploadState> {
    return held(await this.#api.upload(output, { offset, ...file, content }));
  }
}

function held(state: UploadState | undefined): UploadState {
  if (!state) {
    throw new TaskAbortError('claim_lost');
  }
  return state;
}

async function readPart(content: FileContent, offset: number, bytes: number): Promise<Buffer> {
  const end = Math.min(offset + UPLOAD_PART_BYTES, bytes);
  if (typeof content !== 'string') {
    return content.subarray(offset, end);
  }
  const file = await open(content);
  try {
    const part = Buffer.alloc(end - offset);
    const { bytesRead } = await file.read(part, 0, part.length, offset);
    return part.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WorkerApiError)) {
        throw error;
      }
      if (!error.mayPass || tries === TRIES) {
        throw new StorageError(error.message, { status: error.status, cause: error });
      }
    }
    await delay(AGAIN_MS * tries);
  }
}

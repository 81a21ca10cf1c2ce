import { type EngineOutput, ScratchDiskError } from '../engines/engine.types.ts';
import { invariant } from '../lib/errors.ts';
import type { Storage } from '../media/storage.types.ts';
import { withFolderOnDemand } from '../media/temporary-folder.ts';
import type { RawOutput, TaskKind } from './tasks.types.ts';

/** Extension and type that raw files are stored with. Post-processing finds out what a file really is; raw files are never served. */
export const RAW_FILES: Readonly<Record<TaskKind, { extension: string; mediaType: string }>> = {
  image: { extension: 'png', mediaType: 'image/png' },
  video: { extension: 'mp4', mediaType: 'video/mp4' },
};

/** Returns the storage key of an attempt's raw file between generate and postprocess. */
export function rawKey(taskId: string, attempt: number, kind: TaskKind, index: number): string {
  return `raw/${taskId}/${attempt}/${index}.${RAW_FILES[kind].extension}`;
}

/** Parses a key made by {@link rawKey}. Throws InvariantError for any other key. */
export function parseRawKey(key: string): { taskId: string; attempt: number; index: number } {
  const [, taskId, attempt, index] = /^raw\/([^/]+)\/(\d+)\/(\d+)\.\w+$/.exec(key) ?? [];
  invariant(taskId !== undefined, 'a raw file has a key of its own kind');
  return { taskId, attempt: Number(attempt), index: Number(index) };
}

/** Returns the storage key of a part of such a file until the rest has arrived. Keys sort by part number. */
export function rawPartKey(
  taskId: string,
  attempt: number,
  kind: TaskKind,
  index: number,
  part: number,
): string {
  const number = String(part).padStart(4, '0');
  return `raw/${taskId}/${attempt}/${index}-part-${number}.${RAW_FILES[kind].extension}`;
}

/** Stores an engine's output under keys that no other attempt writes. */
export async function storeRaw(
  storage: Pick<Storage, 'putFile'>,
  task: { id: string; attempt: number; kind: TaskKind },
  outputs: readonly EngineOutput[],
): Promise<RawOutput[]> {
  const stored: RawOutput[] = [];
  for (const { index, file } of outputs) {
    const storageKey = rawKey(task.id, task.attempt, task.kind, index);
    await storage.putFile(storageKey, file, RAW_FILES[task.kind].mediaType);
    stored.push({ index, storageKey });
  }
  return stored;
}

/** Deletes raw files, including those that earlier attempts left behind when they died. Returns the keys that could not be deleted. */
export async function deleteRaw(
  storage: Pick<Storage, 'delete'>,
  task: { id: string; attempt: number; kind: TaskKind },
  outputs: readonly RawOutput[],
): Promise<string[]> {
  const keys = new Set(outputs.map((output) => output.storageKey));
  // Normally there is one claim to generate and one to process; only after trouble can there be more to delete.
  for (let attempt = 1; attempt < task.attempt && task.attempt > 2; attempt += 1) {
    for (const { index } of outputs) {
      keys.add(rawKey(task.id, attempt, task.kind, index));
    }
  }
  const failed: string[] = [];
  for (const key of keys) {
    await storage.delete(key).catch(() => failed.push(key));
  }
  return failed;
}

/** {@link withFolderOnDemand} for an attempt. A folder that cannot be created throws ScratchDiskError. */
export function withScratchFolder<Result>(
  base: string,
  name: string,
  work: (folder: () => string) => Promise<Result>,
): Promise<Result> {
  return withFolderOnDemand(base, name, (folder) =>
    work(() => {
      try {
        return folder();
      } catch (error) {
        throw new ScratchDiskError(error);
      }
    }),
  );
}

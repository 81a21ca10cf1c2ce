import type { EngineOutput } from '../engines/engine.types.ts';
import { invariant } from '../lib/invariant.ts';
import type { Storage } from '../media/storage.types.ts';
import type { RawOutput, TaskKind } from './tasks.types.ts';

/** Storage knows keys by extension. What the file really is, post-processing finds out; nobody is ever served a raw one. */
export const RAW_FILES: Readonly<Record<TaskKind, { extension: string; mediaType: string }>> = {
  image: { extension: 'png', mediaType: 'image/png' },
  video: { extension: 'mp4', mediaType: 'video/mp4' },
};

/** Where an attempt's raw file lies between generate and postprocess. */
export function rawKey(taskId: string, attempt: number, kind: TaskKind, index: number): string {
  return `raw/${taskId}/${attempt}/${index}.${RAW_FILES[kind].extension}`;
}

/** The inverse of {@link rawKey}. Throws InvariantError for any other key. */
export function parseRawKey(key: string): { taskId: string; attempt: number; index: number } {
  const [, taskId, attempt, index] = /^raw\/([^/]+)\/(\d+)\/(\d+)\.\w+$/.exec(key) ?? [];
  invariant(taskId !== undefined, 'a raw file has a key of its own kind');
  return { taskId, attempt: Number(attempt), index: Number(index) };
}

/** Where a part of such a file lies until the rest has come. In the order of their numbers. */
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

/** Stores what an engine made, under keys that no other attempt writes. */
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

/** Deletes raw files, those that earlier attempts left behind when they died among them. Returns what could not be deleted. */
export async function deleteRaw(
  storage: Pick<Storage, 'delete'>,
  task: { id: string; attempt: number; kind: TaskKind },
  outputs: readonly RawOutput[],
): Promise<string[]> {
  const keys = new Set(outputs.map((output) => output.storageKey));
  // One claim to generate and one to process is the normal course; only after trouble can there be more to clear.
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

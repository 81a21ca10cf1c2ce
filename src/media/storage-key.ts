import { InvariantError } from '../lib/invariant.ts';
import type { MediaOutput, MediaVariant } from './postprocess.ts';

/** What makes up the key of a stored file. Ids are ours; nothing of the prompt or of a client takes part. */
export interface StorageKeyParts {
  readonly accountId: string;
  readonly taskId: string;
  /** Unix ms the task was submitted at: old months can be swept as one. */
  readonly createdAtMs: number;
  readonly index: number;
  readonly variant: MediaVariant;
  /** Lower-case hex of the file: a key never changes its content. */
  readonly sha256: string;
  readonly mediaType: MediaOutput['mediaType'];
}

const EXTENSIONS: Record<MediaOutput['mediaType'], string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};
const MEDIA_TYPES: Record<string, MediaOutput['mediaType']> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
};

const KEY_CHARACTERS_MAX = 512;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/**
 * `acct/<account>/<yyyy-mm>/<task>/<index>-<variant>-<sha256[:16]>.<ext>`: everything of an account or a task lies under
 * one prefix, and equal files of two customers never share an object. Throws InvariantError on parts that make no key.
 */
export function storageKey(parts: StorageKeyParts): string {
  const month = new Date(parts.createdAtMs).toISOString().slice(0, 7);
  const name = `${parts.index}-${parts.variant}-${parts.sha256.slice(0, 16)}.${EXTENSIONS[parts.mediaType]}`;
  const key = ['acct', parts.accountId, month, parts.taskId, name].join('/');
  if (!isStorageKey(key) || mediaTypeOfKey(key) === undefined) {
    throw new InvariantError(`no storage key: ${key}`);
  }
  return key;
}

/** The task whose file a key names, `acct/<account>/<month>/<task>/…` or `raw/<task>/…`; undefined for any other key. */
export function taskOfKey(key: string): string | undefined {
  const [area, ...rest] = key.split('/');
  const task = area === 'acct' ? rest[2] : area === 'raw' ? rest[0] : undefined;
  return task !== undefined && UUID.test(task) ? task : undefined;
}

/** Whether a text can be a key: plain `/`-separated names, none of which begins with a dot or climbs. */
export function isStorageKey(key: string): boolean {
  return (
    key.length <= KEY_CHARACTERS_MAX &&
    key.includes('/') &&
    key.split('/').every((segment) => SEGMENT.test(segment))
  );
}

/** The media type that a key's extension stands for; undefined for any other. */
export function mediaTypeOfKey(key: string): MediaOutput['mediaType'] | undefined {
  const extension = key.slice(key.lastIndexOf('.') + 1);
  return Object.hasOwn(MEDIA_TYPES, extension) ? MEDIA_TYPES[extension] : undefined;
}

import { constants, createReadStream } from 'node:fs';
import {
  access,
  copyFile,
  type FileHandle,
  open,
  readdir,
  realpath,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { invariant } from '../lib/errors.ts';
import type { FileContent } from '../lib/file-content.ts';
import { FilePlacer } from './file-placer.ts';
import { MediaRoot } from './media-root.ts';
import { FILE_MODE } from './place-files.worker.ts';
import type { ByteRange, ListedObject, SignOptions, Storage, StoredObject } from './storage.types.ts';
import { mediaNotFound } from './storage-error.ts';
import { isStorageKey, mediaTypeOfKey } from './storage-key.ts';
import { temporaryPath } from './temporary-folder.ts';

export interface FileStorageOptions {
  /** The absolute folder of the objects, created if missing. Nothing else may write below it. */
  readonly root: string;
  /** Creates URLs for keys; see createUrlSigner. */
  readonly sign: (key: string, options: SignOptions) => string;
}

/** A storage in a local folder. */
export interface FileStorage extends Storage {
  /** Throws StorageError when the folder's disk is away or takes no writes. */
  checkFolder(): Promise<void>;
}

/**
 * Creates a storage in a local folder, for a single host. Several hosts need the S3 driver or a shared file system with atomic renames.
 * Writes are durable before they are visible. Reads follow no symbolic link out of the folder. While the folder's disk is away, every
 * operation throws StorageError: nothing is written below an empty mount point, and nothing counts as missing.
 */
export async function createFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const root = await MediaRoot.open(options.root);
  const placer = new FilePlacer(root.path);
  return {
    putFile: (key, content, mediaType) => storeObject(root, placer, key, content, mediaType),
    stat: (key) => root.read(() => describeObject(root.path, key)),
    read: (key, range) => streamObject(root, key, range),
    getFile: (key, path) => copyObject(root, key, path),
    signedUrl: async (key, sign) => options.sign(key, sign),
    delete: (key) => removeObject(root, key),
    list: (prefix, after) => listObjects(root, prefix, after),
    checkFolder: () => root.requireWritable(),
    close: () => placer.close(),
  };
}

async function storeObject(
  root: MediaRoot,
  placer: FilePlacer,
  key: string,
  content: FileContent,
  mediaType: string,
): Promise<StoredObject> {
  invariant(isStorageKey(key), 'a storage key is made by storageKey()');
  invariant(mediaTypeOfKey(key) === mediaType, 'the media type of an object is that of its key');
  if (typeof content === 'string') {
    // a missing source is not the storage's fault
    await access(content);
  }
  return await root.write(async () => {
    const incoming = temporaryPath(root.incoming, 'file');
    const isPath = typeof content === 'string';
    try {
      const bytes = isPath ? await copyDurably(content, incoming) : content.length;
      await placer.place({ incoming, target: join(root.path, key), content: isPath ? undefined : content });
      return { key, bytes, mediaType };
    } catch (error) {
      // on a broken disk this fails as well, and the first error is the one that matters
      await rm(incoming, { force: true }).catch(() => undefined);
      throw error;
    }
  });
}

async function describeObject(root: string, key: string): Promise<StoredObject | undefined> {
  const file = await openObject(root, key);
  try {
    return file ? await describe(key, file) : undefined;
  } finally {
    await file?.close();
  }
}

/** Throws AppError media_not_found. */
async function streamObject(root: MediaRoot, key: string, range?: ByteRange): Promise<Readable> {
  const file = await root.read(() => openObject(root.path, key));
  if (file === undefined) {
    throw mediaNotFound();
  }
  // The stream owns the handle from here on, and closes it when it ends or is destroyed.
  return createReadStream('', { fd: file, ...(range ? { start: range.start, end: range.end } : {}) });
}

/** Throws AppError media_not_found. */
async function copyObject(root: MediaRoot, key: string, path: string): Promise<void> {
  const file = await root.read(() => openObject(root.path, key));
  if (file === undefined) {
    throw mediaNotFound();
  }
  // Copies by name, because the kernel copies faster than streams do. The name has been checked, and only we write here.
  await file.close();
  await copyFile(join(root.path, key), path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
}

async function removeObject(root: MediaRoot, key: string): Promise<void> {
  if (!isStorageKey(key)) {
    return;
  }
  const target = join(root.path, key);
  // what is on a disk that is away would be there again afterwards
  await root.read(async () => {
    if (!(await isInside(root.path, dirname(target)))) {
      return undefined;
    }
    await unlink(target).catch(ignoreMissing);
    await removeEmptyFolders(root.path, dirname(target));
    return true;
  });
}

/** Removes empty folders. Every task has its own, so empty ones would use up the disk's inodes. */
async function removeEmptyFolders(root: string, from: string): Promise<void> {
  for (let folder = from; dirname(folder) !== root && folder !== root; folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      return;
    }
  }
}

async function openObject(root: string, key: string): Promise<FileHandle | undefined> {
  if (!isStorageKey(key) || mediaTypeOfKey(key) === undefined) {
    return undefined;
  }
  const target = join(root, key);
  if (!(await isInside(root, dirname(target)))) {
    return undefined;
  }
  const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW).catch(ignoreMissing);
  if (file !== undefined && !(await file.stat()).isFile()) {
    await file.close();
    return undefined;
  }
  return file;
}

async function describe(key: string, file: FileHandle): Promise<StoredObject> {
  const { size } = await file.stat();
  return { key, bytes: size, mediaType: mediaTypeOfKey(key) ?? 'application/octet-stream' };
}

async function isInside(root: string, folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(ignoreMissing);
  return real?.startsWith(root + sep) ?? false;
}

/** Copies a file durably, outside the placer: a video takes long, and images should not wait for it. Returns the size. */
async function copyDurably(from: string, path: string): Promise<number> {
  await copyFile(from, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const file = await open(path, 'r+');
  try {
    await file.chmod(FILE_MODE);
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

// ELOOP: the name is a symbolic link, which is never an object we stored.
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ELOOP') {
    return undefined;
  }
  throw error;
}

async function* listObjects(
  root: MediaRoot,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedObject> {
  await root.requireMounted();
  yield* listFiles(root.path, prefix, after);
}

/**
 * Yields the files below `root`/`prefix` as keys, sorted by name, starting after `after`. Does not follow symbolic links. Skips files that
 * disappear meanwhile.
 */
async function* listFiles(
  root: string,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedObject> {
  const entries = await readdir(join(root, prefix), { withFileTypes: true }).catch(whenMissing(() => []));
  // Sort a folder by the position of its files: for example `a.png` comes before everything in `a/`.
  const named = entries.map((entry) => ({
    entry,
    name: entry.isDirectory() ? `${entry.name}/` : entry.name,
  }));
  named.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const { entry, name } of named) {
    const key = prefix + name;
    if (entry.isDirectory() && !isBehind(key, after)) {
      yield* listFiles(root, key, after);
    } else if (entry.isFile() && (after === undefined || key > after)) {
      const stats = await stat(join(root, key)).catch(whenMissing(() => undefined));
      if (stats) {
        yield { key, storedAtMs: stats.mtimeMs };
      }
    }
  }
}

/** Returns whether everything in the folder sorts before `after`. */
function isBehind(folder: string, after: string | undefined): boolean {
  return after !== undefined && folder < after && !after.startsWith(folder);
}

function whenMissing<Result>(result: () => Result): (error: NodeJS.ErrnoException) => Result {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      return result();
    }
    throw error;
  };
}

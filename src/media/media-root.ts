import { constants, type StatsFs } from 'node:fs';
import { access, mkdir, realpath, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FILE_MODE, FOLDER_MODE } from './place-files.worker.ts';
import { StorageError } from './storage-error.ts';

/** Where files are written before they are renamed into place. The leading dot keeps keys from naming it. */
const INCOMING = '.incoming';
/** Lies in the folder from the first start on, and so tells it from the empty mount point below a disk that is not mounted. */
const MARKER = '.tollgate-media';
const MARKER_TEXT =
  'This folder holds the media of a Tollgate installation. Without this file it counts as not mounted.\n';

/** Errors about one name and not about the folder: another try would fail the same way. */
const OF_THE_NAME = new Set(['EEXIST', 'EISDIR', 'ENAMETOOLONG', 'EINVAL']);

/** Returns the folder in which files are until they are complete. */
export function incomingFolderOf(root: string): string {
  return join(root, INCOMING);
}

/** The folder of a file storage, whose disk may go away while the process runs. */
export class MediaRoot {
  /** Absolute, without symbolic links. */
  readonly path: string;
  readonly incoming: string;
  readonly #isMarked: boolean;

  private constructor(path: string, isMarked: boolean) {
    this.path = path;
    this.incoming = incomingFolderOf(path);
    this.#isMarked = isMarked;
  }

  /** Creates the folder if it is missing, and marks it. One that cannot be marked now, because its disk is full, works without. */
  static async open(folder: string): Promise<MediaRoot> {
    await mkdir(incomingFolderOf(folder), { recursive: true, mode: FOLDER_MODE });
    const path = await realpath(folder);
    const marker = join(path, MARKER);
    const isThere = () => access(marker).then(yes, no);
    const isMarked = (await isThere()) || (await mark(marker).then(yes, isThere));
    return new MediaRoot(path, isMarked);
  }

  /** Throws StorageError when the folder is not the one that was opened: its disk is not mounted, or the folder is gone. */
  async requireMounted(): Promise<void> {
    if (this.#isMarked) {
      await access(join(this.path, MARKER)).catch((cause: unknown) => {
        throw new StorageError('the media folder is missing or not mounted', { cause });
      });
    }
  }

  /** Throws StorageError when nothing can be stored: the folder is not the one that was opened, may not be written to, or is on a full disk. */
  async requireWritable(): Promise<void> {
    await this.requireMounted();
    const allowed = access(this.path, constants.W_OK | constants.X_OK);
    const disk = await allowed
      .then(() => statfs(this.path))
      .catch((error: unknown) => {
        throw outageOf('a write to', error);
      });
    if (isFull(disk)) {
      throw new StorageError('the disk of the media folder is full');
    }
  }

  /** Writes into the folder. Throws StorageError for what may pass: a disk that is full, broken, read-only or not mounted. */
  async write<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work().catch(async (error: unknown) => {
        if (codeOf(error) !== 'ENOENT' || !this.#isMarked) {
          throw error;
        }
        await this.requireMounted();
        await mkdir(this.incoming, { recursive: true, mode: FOLDER_MODE });
        return await work();
      });
    } catch (error) {
      throw outageOf('a write to', error);
    }
  }

  /** Reads from the folder. What is missing must be really missing: otherwise throws StorageError, as for what may pass. */
  async read<Result>(work: () => Promise<Result | undefined>): Promise<Result | undefined> {
    try {
      const found = await work();
      if (found === undefined) {
        await this.requireMounted();
      }
      return found;
    } catch (error) {
      throw outageOf('a read from', error);
    }
  }
}

/** A disk with fewer bytes is full: a file that does not fit is removed again, so the last ones stay free. Images are of this size. */
const ROOM_BYTES_MIN = 4 * 1_024 * 1_024;

/** Returns whether a file system has no room for a file. Those that do not count blocks or files report a total of 0. */
export function isFull({
  blocks,
  bsize,
  bavail,
  files,
  ffree,
}: Pick<StatsFs, 'blocks' | 'bsize' | 'bavail' | 'files' | 'ffree'>): boolean {
  return (blocks > 0 && bavail * bsize < ROOM_BYTES_MIN) || (files > 0 && ffree === 0);
}

async function mark(marker: string): Promise<void> {
  await writeFile(marker, MARKER_TEXT, { flag: 'wx', mode: FILE_MODE });
}

const yes = (): boolean => true;
const no = (): boolean => false;

/** Returns the error as one of the storage if it comes from the file system and another try may succeed. */
function outageOf(operation: string, error: unknown): unknown {
  const code = codeOf(error);
  return code === undefined || OF_THE_NAME.has(code)
    ? error
    : new StorageError(`${operation} the media folder failed (${code})`, { cause: error });
}

/** Returns the code of an error of the file system. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

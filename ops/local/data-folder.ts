import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../embedded/error-code.ts';
import { explainFileError, StartFailure } from '../embedded/start-failure.ts';

/** Bytes that a new Postgres cluster with its write-ahead log and a little data need. */
const FIRST_START_BYTES_MIN = 200 * 1024 * 1024;

/** Creates the data folder where it is missing and proves that it can be written. Throws StartFailure when not. */
export function prepareDataFolder(dataDir: string): void {
  const probe = join(dataDir, 'logs', '.write-test');
  try {
    createFolder(join(dataDir, 'logs'));
    try {
      writeFileSync(probe, 'x'.repeat(4096));
    } finally {
      rmSync(probe, { force: true });
    }
  } catch (error) {
    throw explainFileError(error, dataDir);
  }
}

/** One level at a time: the recursive mkdir reports ENOENT for a read-only disk. */
function createFolder(path: string): void {
  if (!existsSync(path)) {
    createFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Throws StartFailure when a first start would run into a full disk half-way. */
export function checkFreeSpace(dataDir: string, bytesMin = FIRST_START_BYTES_MIN): void {
  const { bavail, bsize } = statfsSync(dataDir);
  const free = bavail * bsize;
  if (free < bytesMin) {
    const inMegabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
    throw new StartFailure(
      `The disk that holds ${dataDir} is full: a first start needs ${inMegabytes(bytesMin)}, ${inMegabytes(free)} are free. Free some space, or set DATA_DIR to a bigger disk.`,
    );
  }
}

/** The secret that signs media URLs and encrypts stored answers. */
const SECRET_FILE = 'secret.key';
/** The operator's bearer token. */
export const ADMIN_TOKEN_FILE = 'admin.token';

/** What signs media URLs and encrypts stored answers; made once. Throws StartFailure. */
export function readOrCreateSecret(dataDir: string): string {
  return readOrCreate(join(dataDir, SECRET_FILE), 32);
}

/** The operator's bearer token; made once. Throws StartFailure. */
export function readOrCreateAdminToken(dataDir: string): string {
  return readOrCreate(join(dataDir, ADMIN_TOKEN_FILE), 24);
}

/** The content of a file that is made at first start: 64 random characters. Throws StartFailure. */
function readOrCreate(path: string, charactersMin: number): string {
  const existing = readOptional(path);
  if (existing !== undefined && existing.length >= charactersMin) {
    return existing;
  }
  if (existing !== undefined && existing !== '') {
    throw new StartFailure(`${path} is damaged. Restore it from a backup, or delete it to get a new one.`);
  }
  const secret = randomBytes(32).toString('hex');
  try {
    writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  } catch (error) {
    throw explainFileError(error, path);
  }
  return secret;
}

/** Trimmed content of a file, or undefined when there is none. Throws StartFailure when it cannot be read. */
export function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') {
      return undefined;
    }
    throw explainFileError(error, path);
  }
}

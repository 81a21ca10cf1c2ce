import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../embedded/error-code.ts';
import { explainFileError, StartFailure } from '../embedded/start-failure.ts';

/** Bytes that a new Postgres cluster with its write-ahead log and a little data need. */
const FIRST_START_BYTES_MIN = 200 * 1024 * 1024;

/** Creates the data folder if it is missing and checks that it is writable. Throws StartFailure. */
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

/** Creates one level at a time: the recursive mkdir reports ENOENT for a read-only disk. */
function createFolder(path: string): void {
  if (!existsSync(path)) {
    createFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Throws StartFailure when a first start would fill the disk halfway through. */
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

/** File of the secret that signs media URLs and encrypts stored responses. */
const SECRET_FILE = 'secret.key';
/** File of the operator's bearer token. */
export const ADMIN_TOKEN_FILE = 'admin.token';

/** Returns the secret that signs media URLs and encrypts stored responses; generated once. Throws StartFailure. */
export function readOrCreateSecret(dataDir: string): string {
  return readOrCreate(join(dataDir, SECRET_FILE), 32);
}

/** Returns the operator's bearer token; generated once. Throws StartFailure. */
export function readOrCreateAdminToken(dataDir: string): string {
  return readOrCreate(join(dataDir, ADMIN_TOKEN_FILE), 24);
}

/** Returns the content of a file that is generated on the first start: 64 random characters. Throws StartFailure. */
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

/** Returns the trimmed content of a file, or undefined when it does not exist. Throws StartFailure when it cannot be read. */
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

import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

const PRIVATE_FILE = 0o600;

/** Reads a secret file without its trailing newline; undefined when it does not exist. */
export async function readSecretFile(folder: string, name: string): Promise<string | undefined> {
  try {
    const text = (await readFile(join(folder, name), 'utf8')).trim();
    return text === '' ? undefined : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/** Writes a secret so that only its owner can read it, and a crash leaves either the old file or the complete new one. */
export async function writeSecretFile(folder: string, name: string, secret: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  const file = await open(temporary, 'wx', PRIVATE_FILE);
  try {
    await file.writeFile(`${secret}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(temporary, PRIVATE_FILE);
  await rename(temporary, path);
}

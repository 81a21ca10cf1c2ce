import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDERS = ['src', 'queues', 'workers'];

export interface ProductSource {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Returns the source files that run in production. */
export function productSources(): ProductSource[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') })),
  );
}

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListedObject } from './storage.types.ts';

/**
 * Files below `root`/`prefix` as keys, in the order of their names, from the first after `after`. Symbolic links are not followed;
 * what goes away meanwhile is left out.
 */
export async function* listFiles(
  root: string,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedObject> {
  const entries = await readdir(join(root, prefix), { withFileTypes: true }).catch(whenMissing(() => []));
  // A folder stands where its files do: between `a` and `a.png` lies everything in `a/`.
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

/** Whether everything in the folder stands before `after` or is it. */
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

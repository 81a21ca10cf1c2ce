import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the folder of an installed npm package, or undefined. Searches upwards from this file, because the packages in question
 * contain programs and do not export their paths.
 */
export function findPackageFolder(name: string): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (true) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) {
      return candidate;
    }
    const parent = dirname(folder);
    if (parent === folder) {
      return undefined;
    }
    folder = parent;
  }
}

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of an installed npm package, or undefined. Looks upwards from this file, because the packages asked for
 * hold programs and do not export the paths of them.
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

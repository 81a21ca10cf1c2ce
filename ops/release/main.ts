import { fileURLToPath } from 'node:url';
import { makeRelease } from './make-release.ts';
import { ReleaseRefused } from './release-refused.ts';
import { Repository } from './repository.ts';

/**
 * `npm run release -- X.Y.Z`: creates and tags a release in this clone. Exits with code 2 when it is refused, and with 1 when git
 * fails.
 */
const [version = '', ...others] = process.argv.slice(2);
try {
  if (others.length > 0 || version === '') {
    throw new ReleaseRefused('usage: npm run release -- X.Y.Z');
  }
  const repository = new Repository(fileURLToPath(new URL('../..', import.meta.url)));
  const tag = await makeRelease(repository, version, new Date().toISOString().slice(0, 10));
  process.stdout.write(`${tag} is committed and tagged. To publish it: git push origin HEAD ${tag}\n`);
} catch (error) {
  process.stderr.write(`no release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ReleaseRefused ? 2 : 1;
}

import { existsSync, readFileSync } from 'node:fs';

/** The version in package.json, its only source. */
export const VERSION: string = readVersion();

function readVersion(): string {
  // next to src/ in the repository, next to dist/ in an installation
  const file = ['../../package.json', '../../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  if (file === undefined) {
    throw new Error('package.json is missing: it belongs beside dist/ in an installation');
  }
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

import { readFileSync } from 'node:fs';
import { notesOf } from './changelog.ts';

/**
 * `node ops/release/notes.ts vX.Y.Z`: prints the section of the changelog for that tag. Exits with code 1 if there is none, or if
 * package.json has another version. Needs no packages, so a workflow can run it at once.
 */
const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const tag = process.argv[2] ?? '';
try {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  if (tag !== `v${version}`) {
    throw new Error(`the tag is "${tag}", and package.json says ${version}`);
  }
  process.stdout.write(notesOf(read('CHANGELOG.md'), version));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

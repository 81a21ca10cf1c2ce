import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './compose-file.ts';

export const DOCS = join(ROOT, 'docs');

/** Returns the paths of the files below a folder whose names have this ending. */
export function files(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

export const read = (path: string) => readFileSync(path, 'utf8');

const FRONT = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].map((name) => join(ROOT, name));

/** Paths of all pages of the documentation. */
export const pages = [...FRONT, ...files(DOCS, '.md')];

/** Pages about the current product; the changelog also describes earlier states. */
export const presentPages = pages.filter((page) => !page.endsWith('CHANGELOG.md'));

/** Returns the names of all Prometheus alerts. */
export function alertNames(): string[] {
  const rules = parse(read(join(ROOT, 'ops/prometheus/alerts.yaml'))) as {
    groups: { rules: { alert: string }[] }[];
  };
  return rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './compose-file.ts';

export const DOCS = join(ROOT, 'docs');

/** Paths of the files below a folder whose names end so. */
export function files(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

export const read = (path: string) => readFileSync(path, 'utf8');

const FRONT = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].map((name) => join(ROOT, name));

/** Paths of every page that people read. */
export const pages = [...FRONT, ...files(DOCS, '.md')];

/** Pages that speak of the product as it is; the changelog speaks of what it was, too. */
export const presentPages = pages.filter((page) => !page.endsWith('CHANGELOG.md'));

/** The names of all alerts that Prometheus is given. */
export function alertNames(): string[] {
  const rules = parse(read(join(ROOT, 'ops/prometheus/alerts.yaml'))) as {
    groups: { rules: { alert: string }[] }[];
  };
  return rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from './compose-file.ts';

test('the build context contains every file that the Dockerfile copies', () => {
  const dockerfile = readFileSync(join(ROOT, 'ops/docker/Dockerfile'), 'utf8');
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  );
  expect(copied.length).toBeGreaterThan(10);
  const isGiven = (file: string) => allowed.some((path) => file === path || file.startsWith(`${path}/`));
  expect(copied.filter((file) => !isGiven(file))).toEqual([]);
});

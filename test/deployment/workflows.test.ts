import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ROOT } from './compose-file.ts';

/** Checks of the workflows that do not need GitHub. */

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, { readonly tags?: readonly string[] } | null>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = join(ROOT, '.github/workflows');
const names = readdirSync(FOLDER);
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const workflowOf = (name: string) => parse(textOf(name)) as Workflow;
const stepsOf = (name: string) => Object.values(workflowOf(name).jobs).flatMap(({ steps = [] }) => steps);
const release = workflowOf('release.yml');

test.each(names)('%s pins actions to a commit, with the version in a comment', (name) => {
  const used = [...textOf(name).matchAll(/uses: (\S+)(.*)$/gm)];
  expect(used.length).toBeGreaterThan(0);
  for (const [, action = '', comment] of used) {
    if (action.startsWith('./')) {
      expect(existsSync(join(ROOT, action))).toBe(true);
    } else {
      expect([action, comment]).toEqual([
        expect.stringMatching(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/),
        expect.stringMatching(/^ # v\d+\.\d+\.\d+$/),
      ]);
    }
  }
});

test.each(names)('%s is read-only unless a job requests more, and every job has a timeout', (name) => {
  const { permissions, jobs } = workflowOf(name);
  expect(permissions).toEqual({ contents: 'read' });
  for (const job of Object.values(jobs)) {
    expect(job.uses ?? job['timeout-minutes']).toBeDefined();
  }
});

test.each(names)('the commands of %s are valid, without interpolated values', (name) => {
  for (const { run } of stepsOf(name)) {
    if (run !== undefined) {
      expect(run).not.toMatch(/\$\{\{/);
      const { stderr, status } = spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
    }
  }
});

test.each(names)('every repository file named in a command of %s exists', (name) => {
  const named = stepsOf(name)
    .flatMap(({ run = '' }) => [...run.matchAll(/(?<![\w/.])((?:ops|\.ci)\/[\w./-]+)/g)])
    .map(([path]) => path);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('a release starts with a tag in the format of the release command', () => {
  expect(Object.keys(release.on)).toEqual(['push']);
  expect(release.on.push).toEqual({ tags: ['v[0-9]+.[0-9]+.[0-9]+'] });
});

test('publishes only after notes and test suite succeed, and only publishing jobs may write', () => {
  const { notes, check, image, release: publish } = release.jobs;
  expect([notes?.needs, check?.needs, image?.needs, publish?.needs]).toEqual([
    undefined,
    'notes',
    'check',
    'image',
  ]);
  expect(check?.uses).toBe('./.github/workflows/ci.yml');
  expect(Object.keys(workflowOf('ci.yml').on)).toContain('workflow_call');
  expect([notes?.permissions, check?.permissions]).toEqual([undefined, undefined]);
  expect(image?.permissions).toEqual({ contents: 'read', packages: 'write' });
  expect(publish?.permissions).toEqual({ contents: 'write', packages: 'read' });
});

test('attaches an SBOM and a provenance to the image, and reads both back', () => {
  const commands = stepsOf('release.yml')
    .map(({ run = '' }) => run)
    .join('\n');
  const build = /docker buildx build [\s\S]*?--push \.$/m.exec(commands)?.[0] ?? '';
  expect(build).toContain('--file ops/docker/Dockerfile');
  expect(build).toContain('--sbom=true --provenance=mode=max');
  expect(build.match(/--tag "\$image:/g)).toHaveLength(2);
  expect(commands).toMatch(/json \.SBOM[\s\S]*json \.Provenance[\s\S]*gh release create/);
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { documentOf } from '../../ops/openapi-routes.ts';
import { chartSchema, chartSettings } from '../../ops/reference/chart-schema.ts';
import { OTHER_SETTINGS } from '../../ops/reference/settings-reference.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { SECRETS } from '../../src/lib/secret-files.ts';
import { VERSION } from '../../src/lib/version.ts';
import { CHART, defaults, readChart, VALUE_FILES, valuesOf } from './chart.ts';
import { ROOT } from './compose-file.ts';

/** Checks of the chart that need no helm; `npm run test:helm` renders it. */

const schema = z.fromJSONSchema(JSON.parse(readChart('values.schema.json')));
const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.includes('.'))
  .map((name) => ({ name, text: readChart(join('templates', name)) }));
const everything = templates.map(({ text }) => text).join('\n');

test('uses the version of package.json for chart and image', () => {
  const chart = parse(readChart('Chart.yaml')) as { version: string; appVersion: string };
  expect([chart.version, chart.appVersion]).toEqual([VERSION, VERSION]);
  expect(everything).toContain('"tag" .Chart.AppVersion');
});

test('lists the settings of this build in the values schema (written by npm run generate)', () => {
  expect(readChart('values.schema.json')).toBe(chartSchema());
  expect(Object.keys(defaults().settings).filter((name) => !chartSettings().includes(name))).toEqual([]);
});

test.each(['values.yaml', ...VALUE_FILES])('the schema accepts %s', (file) => {
  const values = file === 'values.yaml' ? defaults() : valuesOf(file);
  expect(schema.safeParse(values).error?.issues).toBeUndefined();
});

test.each([
  ['a misspelled setting', { settings: { PUBLC_URL: 'https://models.example.com' } }],
  ...SECRETS.map((name) => [`${name} in the values`, { settings: { [name]: 'x'.repeat(40) } }] as const),
  ['a number where the environment has text', { settings: { DRAIN_SECONDS: 120 } }],
  ['a member that no template reads', { replicas: 3 }],
  ['an unknown queue', { workers: { more: { queues: ['chat'] } } }],
  [
    "a pool name that would end KEDA's SQL statement",
    { workers: { more: { queues: ["generate:x' OR 'a"] } } },
  ],
  ['a tag as digest', { image: { digest: 'latest' } }],
])('the schema rejects %s', (_, values) => {
  expect(schema.safeParse(values).success).toBe(false);
});

test('passes a process only variables that it reads', () => {
  const known = new Set([...Object.keys(SETTINGS.shape), ...OTHER_SETTINGS.map(([name]) => name)]);
  const scripts = readdirSync(join(ROOT, 'ops/backup'))
    .map((name) => readFileSync(join(ROOT, 'ops/backup', name), 'utf8'))
    .join('\n');
  const named = [
    ...everything.matchAll(/name: ([A-Z][A-Z0-9_]+)[ ,\n]/g),
    ...everything.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm),
    ...everything.matchAll(/"url" "([A-Z_]+)"/g),
    ...everything.matchAll(/settings\.([A-Z][A-Z0-9_]+)/g),
  ].map(([, name = '']) => name);
  expect(new Set(named).size).toBeGreaterThan(10);
  expect(named.filter((name) => !known.has(name) && !scripts.includes(`"$${name}"`))).toEqual([]);
});

test('creates no Secret and puts no secret into a ConfigMap', () => {
  expect(everything).not.toMatch(/kind: Secret\b/);
  const maps = templates.flatMap(({ text }) =>
    text.split(/^---$/m).filter((part) => part.includes('kind: ConfigMap')),
  );
  expect(maps.length).toBeGreaterThan(3);
  const written = maps.flatMap((text) => SECRETS.filter((name) => text.includes(`${name}:`)));
  // a placeholder that grants nothing
  expect(written).toEqual(['ADMIN_TOKEN']);
  expect(everything).toContain('ADMIN_TOKEN: nobody-operates-through-a-worker');
});

test('routes exactly the paths for customers through the ingress', () => {
  const tops = new Set(Object.keys(documentOf().paths as object).map((path) => `/${path.split('/')[1]}`));
  const inside = ['/admin', '/worker', '/metrics', '/readyz'];
  const open = [...tops].filter((path) => !inside.includes(path));
  // /v1 is an alias of many operations, /console is not an operation
  expect([...defaults().ingress.paths].sort()).toEqual([...open, '/v1', '/console'].sort());
});

test('serves each queue by one pool by default, maintenance with full access', () => {
  const { workers } = defaults();
  expect(Object.values(workers).flatMap(({ queues }) => queues)).toEqual([
    ...['postprocess', 'webhooks', 'maintenance'],
    'generate:local',
  ]);
  expect([workers.chores?.access, workers.generate?.access]).toEqual(['full', 'generate']);
});

test.each(VALUE_FILES)('contains only valid catalogs in %s', (file) => {
  const { catalog, workers } = valuesOf(file);
  const texts = [catalog.text, ...Object.values(workers).map((pool) => pool.catalog ?? '')].filter(Boolean);
  for (const text of texts) {
    expect(parseCatalog(text, file, { OPENAI_API_KEY: 'a-value' }).engines).toBeDefined();
  }
});

test('finds every repository file that a template uses', () => {
  const taken = [
    ...everything.matchAll(/Files\.Get "([^"]+)"/g),
    ...['backup.sh', 'nightly.sh', 'restore.sh', 'drill.sh', 'empty-schema.sql'].map((name) => [
      '',
      `files/backup/${name}`,
    ]),
  ];
  expect(taken.map(([, name = '']) => readChart(name).length > 100)).toEqual(taken.map(() => true));
});

test('creates the names that backup.md uses to restore on Kubernetes', () => {
  const page = readFileSync(join(ROOT, 'docs/backup.md'), 'utf8');
  const commands = page.slice(page.indexOf('## Restore on Kubernetes'));
  const given = new Set([
    ...[...everything.matchAll(/printf "%s-([a-z-]+)" \(include "tollgate\.name"/g)].map(([, name]) => name),
    ...[...everything.matchAll(/"suffix" "([a-z]+)"/g)].map(([, name]) => name),
    ...[...everything.matchAll(/existingClaim \| default \(printf "%s-([a-z]+)"/g)].map(([, name]) => name),
  ]);
  const named = [
    ...commands.matchAll(/(?:deployment|cronjob)\/tollgate-([a-z-]+)/g),
    ...commands.matchAll(/the (?:claim|CronJob)\s`tollgate-([a-z]+)`/g),
  ].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(['backup', 'drill', 'api', 'backups']));
  expect(named.filter((name) => !given.has(name))).toEqual([]);
  // the path and folder in the command that replaces the nightly one
  const [, scripts, dumps] = /"(\/[a-z]+)\/restore\.sh", "--wipe", "(\/[a-z]+)\//.exec(commands) ?? [];
  expect(everything).toContain(`{ name: scripts, mountPath: ${scripts}, readOnly: true }`);
  expect(everything).toContain(`{ name: backups, mountPath: ${dumps}, readOnly: {{ $job.readOnly }} }`);
  expect(commands).toContain('app.kubernetes.io/instance=tollgate');
});

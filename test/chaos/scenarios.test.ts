import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COVERED } from './covered.ts';
import { chaosTable } from './run-scenarios.ts';
import { SCENARIOS } from './scenarios.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('lists every scenario once, in order, either run here or covered by other tests', () => {
  const ids = SCENARIOS.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
  const all = [...ids, ...COVERED.map(({ id }) => id)];
  expect(new Set(all).size).toBe(all.length);
});

test.each(COVERED.flatMap(({ id, by }) => by.map(({ file, title }) => [id, file, title] as const)))(
  '%s is covered by %s: %s',
  (_id, file, title) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(title);
  },
);

test('shows in the table what was required, what was measured, and what missed its figure', () => {
  const [scenario] = SCENARIOS;
  const row = (failures: string[]) => ({
    scenario: scenario!,
    finding: { measured: '7 of 7', failures },
    seconds: 3,
  });
  const table = chaosTable([row([]), row(['one was lost', 'and another'])]);
  expect(table).toContain(`| A1 | ${scenario!.fault} | ${scenario!.asked} | 7 of 7 | ok | 3 s |`);
  expect(table).toContain('| 7 of 7 | **no**: one was lost | 3 s |');
  expect(table).toContain('| covered by `test/api/stripe.test.ts` |');
});

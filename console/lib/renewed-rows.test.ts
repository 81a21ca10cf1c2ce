import fc from 'fast-check';
import { newRows, renewed } from './renewed-rows.ts';

interface Call {
  readonly id: string;
  readonly status?: string;
}

const rows = (from: number, to: number): Call[] =>
  Array.from({ length: from - to + 1 }, (_, index) => ({ id: String(from - index) }));
const page = (shown: Call[], next?: string) => ({ rows: shown, next });
const ids = ({ rows: shown }: { readonly rows: readonly Call[] }) => shown.map(({ id }) => Number(id));
const LIVE = { isLive: true, isRead: false };

test('at the top of a list, the newest page is shown', () => {
  const newest = page(rows(9, 6), 'b');
  expect(renewed(page(rows(7, 4), 'a'), newest, LIVE)).toBe(newest);
});

test('while reading further down, rows stay in place; changes are shown, new rows wait', () => {
  const newest = page([{ id: '8' }, { id: '7', status: 'completed' }, { id: '6' }], 'b');
  const seen = renewed(page(rows(7, 1), 'older'), newest, LIVE);
  expect(ids(seen)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect(seen).toMatchObject({
    next: 'older',
    rows: [{ id: '7', status: 'completed' }, { id: '6' }, {}, {}, {}, {}, {}],
  });
  expect(newRows(newest.rows, seen.rows)).toEqual([{ id: '8' }]);
  const scrolled = renewed(page(rows(7, 5), 'a'), page(rows(8, 6), 'b'), { isLive: true, isRead: true });
  expect([ids(scrolled), scrolled.next]).toEqual([[7, 6, 5], 'a']);
});

test('rows that the user created or deleted appear or disappear at once', () => {
  const acted = { isLive: false, isRead: true };
  expect(
    ids(renewed(page(rows(7, 1), 'a'), page([{ id: '8' }, { id: '7' }, { id: '5' }], 'b'), acted)),
  ).toEqual([8, 7, 5, 4, 3, 2, 1]);
  expect(ids(renewed(page(rows(7, 1)), page(rows(5, 1)), acted))).toEqual([5, 4, 3, 2, 1]);
});

test('no row is shown twice and none in between is missing, whatever was added or removed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 40 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 80 })),
      fc.boolean(),
      (loaded, came, gone, isLive) => {
        const before = page(rows(40, 41 - loaded), loaded === 40 ? undefined : 'a');
        const there = rows(40 + came, 1).filter(({ id }) => !gone.includes(Number(id)));
        const newest = page(there.slice(0, 10), there.length > 10 ? 'b' : undefined);
        const seen = ids(renewed(before, newest, { isLive, isRead: true }));
        expect(new Set(seen).size).toBe(seen.length);
        const all = new Set([...ids({ rows: there }), ...ids(before)]);
        const [top = 0, bottom = 0] = [seen[0], seen.at(-1)];
        const between = [...all].filter((id) => id <= top && id >= bottom && !gone.includes(id));
        expect(between.filter((id) => !seen.includes(id))).toEqual([]);
      },
    ),
  );
});

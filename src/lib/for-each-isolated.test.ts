import { forEachIsolated } from './for-each-isolated.ts';

const ITEMS = Array.from({ length: 120 }, (_, index) => index);
const failOn = (isBad: (item: number) => boolean) => async (item: number) => {
  if (isBad(item)) {
    throw new Error(`no ${item}`);
  }
};

test('a failing item does not stop the others', async () => {
  const failed: number[] = [];
  const done = await forEachIsolated(
    ITEMS,
    failOn((item) => item % 2 === 1),
    { together: 3, onFailure: (item) => failed.push(item) },
  );
  expect([...done].sort((a, b) => a - b)).toEqual(ITEMS.filter((item) => item % 2 === 0));
  expect(failed).toHaveLength(60);
});

test('gives up after fifty failures in a row', async () => {
  const failed: number[] = [];
  const work = failOn((item) => item >= 10);
  await expect(forEachIsolated(ITEMS, work, { onFailure: (item) => failed.push(item) })).rejects.toThrow(
    'no 59',
  );
  expect(failed).toHaveLength(50);
});

test('starts no further item once the signal aborts', async () => {
  const controller = new AbortController();
  const work = async (item: number) => {
    if (item === 4) {
      controller.abort();
    }
  };
  const options = { signal: controller.signal, onFailure: () => undefined };
  expect(await forEachIsolated(ITEMS, work, options)).toEqual([0, 1, 2, 3, 4]);
});

import { afterKey, endsOf, type Selection } from './chart-selection.ts';

const BARS = 10;

/** Presses keys one after the other; `⇧` before a key means Shift. */
function press(...keys: string[]): Selection | undefined {
  return keys.reduce<Selection | undefined>(
    (before, key) =>
      afterKey(before, { key: key.replace('⇧', ''), shiftKey: key.startsWith('⇧') }, BARS) ?? before,
    undefined,
  );
}

test.each<[string[], number, number, boolean]>([
  [['ArrowLeft'], 8, 8, false],
  [['Home', 'ArrowLeft'], 0, 0, false],
  [['End', 'ArrowRight'], 9, 9, false],
  [['⇧ArrowLeft'], 8, 9, true],
  [['⇧ArrowLeft', '⇧ArrowLeft', '⇧ArrowLeft'], 6, 9, true],
  [['Home', '⇧ArrowRight', '⇧ArrowRight', '⇧ArrowLeft'], 0, 1, true],
  [['ArrowLeft', 'ArrowLeft', '⇧ArrowRight', '⇧Home'], 0, 7, true],
  [['⇧Home', 'ArrowRight'], 1, 1, false],
  [['Tab', 'x', 'End'], 9, 9, false],
])('%j selects %d to %d', (keys, first, last, isRange) => {
  const selection = press(...keys);
  expect(selection && [...endsOf(selection), selection.isRange]).toEqual([first, last, isRange]);
});

test('other keys select nothing, and neither does any key on a chart without bars', () => {
  expect(press('Tab', 'Enter', 'PageUp')).toBeUndefined();
  expect(afterKey(undefined, { key: 'End', shiftKey: false }, 0)).toBeUndefined();
});

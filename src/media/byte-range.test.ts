import { parseRange } from './byte-range.ts';

describe('parseRange', () => {
  const part = (start: number, end: number) => ({ kind: 'part', range: { start, end } });
  const whole = { kind: 'whole' };
  const unsatisfiable = { kind: 'unsatisfiable' };

  test.each<[string | undefined, number, unknown]>([
    [undefined, 100, whole],
    ['bytes=0-0', 100, part(0, 0)],
    ['bytes=0-99', 100, part(0, 99)],
    ['bytes=10-19', 100, part(10, 19)],
    ['bytes=10-1000', 100, part(10, 99)],
    ['bytes=99-', 100, part(99, 99)],
    ['bytes=0-', 100, part(0, 99)],
    ['bytes=-1', 100, part(99, 99)],
    ['bytes=-100', 100, part(0, 99)],
    ['bytes=-500', 100, part(0, 99)],
    ['BYTES=1-2', 100, part(1, 2)],
    ['bytes=100-', 100, unsatisfiable],
    ['bytes=100-200', 100, unsatisfiable],
    ['bytes=-0', 100, unsatisfiable],
    ['bytes=0-', 0, unsatisfiable],
    ['bytes=-5', 0, unsatisfiable],
    ['bytes=20-10', 100, whole],
    ['bytes=0-1,5-6', 100, whole],
    ['bytes=-', 100, whole],
    ['bytes=a-b', 100, whole],
    ['bytes=+1-2', 100, whole],
    ['bytes=1.5-2', 100, whole],
    ['items=0-1', 100, whole],
    ['bytes=0-99999999999999999999', 100, whole],
    ['', 100, whole],
  ])('%p of %d bytes', (header, size, answer) => {
    expect(parseRange(header, size)).toEqual(answer);
  });
});

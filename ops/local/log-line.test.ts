import { lastProblem, readLogLine } from './log-line.ts';

test('JSON records are classified by level, and the cause is added if the message lacks it', () => {
  expect(readLogLine('{"level":30,"msg":"up"}')).toEqual({ level: 'info', text: 'up' });
  expect(readLogLine('{"level":40,"msg":"slow"}')).toEqual({ level: 'warning', text: 'slow' });
  expect(readLogLine('{"level":60,"msg":"cannot start","err":{"message":"no price"}}')).toEqual({
    level: 'error',
    text: 'cannot start: no price',
  });
});

test('plain text is classified by the usual keywords', () => {
  expect(readLogLine('TypeError: x is not a function').level).toBe('error');
  expect(readLogLine('2026-01-01 FATAL:  no disk').level).toBe('error');
  expect(readLogLine('WARNING: old').level).toBe('warning');
  expect(readLogLine('{ not json')).toEqual({ level: 'info', text: '{ not json' });
  expect(readLogLine('    at file:///x.js:1').level).toBe('info');
});

test('what was said long before the end is not its problem', () => {
  const at = (time: string, level: number, msg: string) => JSON.stringify({ level, time, msg });
  const old = at('2026-01-01T00:00:00.000Z', 50, 'catalog not reloaded');
  const since = Date.parse('2026-01-01T00:01:00Z');
  expect(lastProblem(old, since)).toBeUndefined();
  expect(
    lastProblem(`${at('2026-01-01T00:02:00Z', 50, 'new')}\n${at('2026-01-01T00:02:00Z', 30, 'x')}`, since),
  ).toBe('new');
  expect(lastProblem(`an error\n${old}\nFATAL ERROR: heap out of memory`, since)).toContain('heap');
});

test('the last problem is the last error, else the last line', () => {
  expect(lastProblem('Error: first\n    at x\nNode.js v20\n')).toBe('first');
  expect(lastProblem('one\ntwo\n')).toBe('two');
  expect(lastProblem('')).toBeUndefined();
});

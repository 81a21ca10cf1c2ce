import { spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { LogOutput } from './logger.ts';

/** A log whose writes fail with `failure.code` while it is set, and take at most `room` bytes. */
function startLog() {
  const state = { code: undefined as string | undefined, room: Number.POSITIVE_INFINITY, written: '' };
  const output = new LogOutput({
    write: (_descriptor, bytes) => {
      if (state.code !== undefined || state.room === 0) {
        throw Object.assign(new Error('no space left'), { code: state.code ?? 'ENOSPC' });
      }
      const taken = bytes.subarray(0, state.room);
      state.room -= taken.length;
      state.written += taken.toString();
      return taken.length;
    },
    describeLoss: (lines, code) => `lost ${lines}: ${code}\n`,
  });
  return { state, output };
}

it('writes lines together, once there are enough of them or after a moment', async () => {
  const { state, output } = startLog();
  output.write('one\n');
  output.write('two\n');
  expect(state.written).toBe('');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(state.written).toBe('one\ntwo\n');
  output.write(`${'x'.repeat(5_000)}\n`);
  expect(state.written).toHaveLength(5_009);
});

it('continues in the middle of a line once a full disk has room again', () => {
  const { state, output } = startLog();
  state.room = 6;
  output.write('one\ntwo\n');
  output.flush();
  expect(state.written).toBe('one\ntw');
  state.room = Number.POSITIVE_INFINITY;
  output.flush();
  expect(state.written).toBe('one\ntwo\n');
});

it('keeps a megabyte while nothing can be written, and says how many lines were lost', () => {
  const { state, output } = startLog();
  state.code = 'ENOSPC';
  const line = `${'x'.repeat(999)}\n`;
  for (let place = 0; place < 2_000; place += 1) {
    output.write(line);
  }
  state.code = undefined;
  output.flush();
  const lines = state.written.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1_000);
  expect(lines.at(-1)).toBe(`lost ${2_000 - (lines.length - 1)}: ENOSPC`);
  output.write(line);
  output.flush();
  expect(state.written.endsWith(`ENOSPC\n${line}`)).toBe(true);
});

it.each(['ENOSPC', 'EAGAIN', 'EPIPE'])('lets the process end while writes fail with %s', (code) => {
  const { state, output } = startLog();
  state.code = code;
  output.write('last\n');
  const startedAt = performance.now();
  output.close();
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

it('neither ends nor delays a process whose log is on a full disk', () => {
  const logger = new URL('./logger.ts', import.meta.url).href;
  const script = `
    import { createLogger } from ${JSON.stringify(logger)};
    createLogger({ name: 'test', level: 'info' }).info('line');
    setTimeout(() => process.exit(7), 500);`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', script],
    { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'], timeout: 20_000, killSignal: 'SIGKILL' },
  );
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 7, stderr: '' });
});

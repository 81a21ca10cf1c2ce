import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROW = fileURLToPath(new URL('./thrown-row.ts', import.meta.url));

test('reports a row that throws as failed and exits, although its services never close', async () => {
  const row = fork(ROW, { execArgv: ['--import', 'tsx'] });
  const told = once(row, 'message');
  const ended = once(row, 'exit');
  const [finding] = await told;
  expect(finding).toEqual({
    measured: 'it did not finish',
    failures: [expect.stringMatching(/^Error: the load broke off .* \(Error: the socket was reset\)$/)],
  });
  expect(await ended).toEqual([0, null]);
});

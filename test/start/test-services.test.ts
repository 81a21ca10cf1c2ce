import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isAlive } from '../../ops/embedded/process-identity.ts';
import { waitUntil } from './wait-until.ts';

const fixture = fileURLToPath(new URL('fixtures/start-services.ts', import.meta.url));

test('a test run that is killed leaves neither servers nor files', async () => {
  const run = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), fixture], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    run.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await waitUntil('the servers', () => output.endsWith('\n'));
    const { folder, pids } = JSON.parse(output) as { folder: string; pids: number[] };
    expect(pids.every(isAlive)).toBe(true);
    run.kill('SIGKILL');
    await waitUntil('the servers to end', () => !pids.some(isAlive) && !existsSync(folder));
  } finally {
    // left behind, it would hold the output of the test run open, which then does not end
    run.kill('SIGKILL');
  }
});

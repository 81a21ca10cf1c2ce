import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isAlive } from '../../ops/embedded/process-identity.ts';
import { eventually } from '../factories/eventually.ts';

const fixture = fileURLToPath(new URL('fixtures/start-services.ts', import.meta.url));

test('a killed test run leaves neither servers nor files', async () => {
  const run = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), fixture], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    run.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await eventually(async () => output.endsWith('\n'), 30_000, 'the servers');
    const { folder, pids } = JSON.parse(output) as { folder: string; pids: number[] };
    expect(pids.every(isAlive)).toBe(true);
    run.kill('SIGKILL');
    await eventually(async () => !pids.some(isAlive) && !existsSync(folder), 30_000, 'the servers to end');
  } finally {
    // otherwise it would keep the output of the test run open, which would then never end
    run.kill('SIGKILL');
  }
});

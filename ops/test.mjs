// `npm test` on a clone with nothing installed: packages, then Jest (which starts its own Postgres and Redis).
import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkNode, ensurePackages, InstallFailure, showStep } from './install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const given = process.argv.slice(2);

async function test() {
  checkNode();
  await showStep('Packages', true, (update) => ensurePackages(root, update));
  // One more than there are cores, because tests also wait: for a lease, a browser, a commit. Many workers would mean many databases.
  const workers = Math.max(2, Math.min(availableParallelism() + 1, 4));
  const chosen = given.some((parameter) => /^(--maxWorkers|-w|--runInBand|-i\b)/.test(parameter));
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const counted = join(tmpdir(), `tollgate-counted-${process.pid}`);
  const child = spawn(
    process.execPath,
    [...flags, jest, ...(chosen ? [] : [`--maxWorkers=${workers}`]), ...given],
    { cwd: root, stdio: 'inherit', env: { ...process.env, TEST_COUNTED_FILE: counted } },
  );
  // The terminal sends Ctrl-C to both; Jest exits first, and its result counts.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => child.kill(signal));
  }
  const code = await new Promise((resolve) => child.on('close', (exitCode) => resolve(exitCode ?? 1)));
  if (code !== 0 && !existsSync(counted)) {
    // Jest exited before its reporters could print a result, e.g. because no server could be started.
    process.stdout.write('0 passed, 1 failed\n');
  }
  rmSync(counted, { force: true });
  return code;
}

try {
  process.exitCode = await test();
} catch (error) {
  const line = error instanceof InstallFailure ? error.message : (error?.stack ?? String(error));
  process.stderr.write(`\n  ✗ ${line}\n\n`);
  process.stdout.write('0 passed, 1 failed\n');
  process.exitCode = 1;
}

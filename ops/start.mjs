// `npm start` and `npm run dev` on a clone with nothing installed: packages, build, then the supervisor. Imports only Node's own
// modules and install.mjs, which does the same.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  checkNode,
  ensureBuild,
  ensureConsole,
  ensurePackages,
  InstallFailure,
  showStep,
} from './install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const mode = process.argv[2] === 'dev' ? 'dev' : 'start';

async function start() {
  const startedAtMs = Date.now();
  checkNode();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  process.stdout.write(`\n  Tollgate ${version}\n\n`);
  if (existsSync(join(root, '.env'))) {
    process.loadEnvFile(join(root, '.env'));
  }
  await showStep('Packages', false, (update) => ensurePackages(root, update));
  if (mode === 'dev') {
    await showStep('Console', true, () => ensureConsole(root));
    const { register } = await import('tsx/esm/api');
    register();
    return await supervise('ops/local/supervisor.ts', startedAtMs);
  }
  await showStep('Build', false, (update) => ensureBuild(root, update));
  return await supervise('dist/ops/local/supervisor.js', startedAtMs);
}

async function supervise(file, startedAtMs) {
  const { main } = await import(pathToFileURL(join(root, file)).href);
  return await main(root, mode, startedAtMs);
}

try {
  process.exitCode = await start();
} catch (error) {
  const line = error instanceof InstallFailure ? error.message : (error?.stack ?? String(error));
  process.stderr.write(`\n  ✗ ${line}\n\n`);
  process.exitCode = 1;
}

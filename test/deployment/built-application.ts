import { execFile } from 'node:child_process';
import { copyFile, cp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);

/** The compiled application in a folder laid out like the image's /app. */
export interface BuiltApplication {
  readonly folder: string;
  remove(): Promise<void>;
}

/** Compiles what the image contains. `npm run build` checks the types. */
export async function buildApplication(): Promise<BuiltApplication> {
  const folder = ownTemporaryFolder('built');
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(
    process.execPath,
    [compiler, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(folder, 'dist')],
    { cwd: ROOT },
  );
  await cp(join(ROOT, 'migrations', 'functions'), join(folder, 'migrations', 'functions'), {
    recursive: true,
  });
  await run(process.execPath, [join(ROOT, 'ops', 'build-console.mjs'), join(folder, 'dist', 'console')]);
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await copyFile(join(ROOT, 'tollgate.yaml'), join(folder, 'tollgate.yaml'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

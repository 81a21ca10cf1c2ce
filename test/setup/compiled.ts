import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the compiled form of a program of this repository, such as `workers/main.ts`: a process that compiles what it loads takes
 * another second of processor time to start. A run of Jest has compiled all of them in its setup.
 */
export async function compiled(program: string): Promise<string> {
  process.env.TEST_COMPILED_FOLDER ??= await compileOnce();
  return join(process.env.TEST_COMPILED_FOLDER, 'dist', program.replace(/\.ts$/, '.js'));
}

/** Compiles the programs of a project of TypeScript into a folder laid out like the image's /app, with its packages. */
export async function layOut(folder: string, project: string): Promise<void> {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  // `npm run build` checks the types
  const options = ['--noEmit', 'false', '--noCheck', '--outDir', join(folder, 'dist')];
  await promisify(execFile)(process.execPath, [compiler, '-p', project, ...options], { cwd: ROOT });
  await cp(join(ROOT, 'migrations', 'functions'), join(folder, 'migrations', 'functions'), {
    recursive: true,
  });
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
}

/** For programs that use the tests' parts outside of Jest. */
async function compileOnce(): Promise<string> {
  const folder = ownTemporaryFolder('compiled');
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await layOut(folder, 'tsconfig.json');
  return folder;
}

import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { layOut } from '../setup/compiled.ts';
import { ROOT } from './compose-file.ts';

const run = promisify(execFile);

/** The compiled application in a folder laid out like the image's /app. */
export interface BuiltApplication {
  readonly folder: string;
  remove(): Promise<void>;
}

/** Compiles what the image contains. */
export async function buildApplication(): Promise<BuiltApplication> {
  const folder = ownTemporaryFolder('built');
  await layOut(folder, 'tsconfig.build.json');
  await run(process.execPath, [join(ROOT, 'ops', 'build-console.mjs'), join(folder, 'dist', 'console')]);
  await copyFile(join(ROOT, 'tollgate.yaml'), join(folder, 'tollgate.yaml'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

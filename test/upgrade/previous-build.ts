import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { Repository } from '../../ops/release/repository.ts';
import { cachedFolder, clientCache } from '../clients/client-cache.ts';
import { runTool } from '../clients/run-program.ts';
import { ROOT } from '../deployment/compose-file.ts';

/** A compiled product. */
export interface Build {
  /** Its name in the report. */
  readonly name: string;
  /** Folder with its `dist/` and everything that it needs. */
  readonly folder: string;
}

/** The starting point of the upgrade while there are no tags: an early state, 37 migrations ago. */
const BEFORE_THE_FIRST_TAG = '55e8af1';

/** Returns the result of `npm run build` in this repository. Throws an Error when there is none. */
export function presentBuild(): Build {
  if (!existsSync(join(ROOT, 'dist/src/server.js'))) {
    throw new Error('run npm run build first');
  }
  return { name: 'this build', folder: ROOT };
}

/**
 * Compiles the release to upgrade from in the user's cache: `reference` (a tag or commit), or the newest release. Its dependencies are
 * those of its own lock file. Throws an Error when there is no such commit, and NotInstalled when it cannot be built.
 */
export async function previousBuild(
  reference: string | undefined,
  environment: NodeJS.ProcessEnv,
): Promise<Build> {
  const name = reference ?? (await new Repository(ROOT).newestRelease()) ?? BEFORE_THE_FIRST_TAG;
  const { code, stdout } = await runCommand(
    'git',
    ['-C', ROOT, 'rev-parse', '--verify', `${name}^{commit}`],
    {
      env: environment,
      timeoutMs: 10_000,
    },
  );
  if (code !== 0) {
    throw new Error(`${name} is not a commit of this clone: fetch it, or choose another`);
  }
  const commit = stdout.trim();
  const folder = await cachedFolder(join(clientCache(environment), 'releases', commit), (partial) =>
    compile(commit, partial),
  );
  return { name, folder };
}

async function compile(commit: string, folder: string): Promise<void> {
  const archive = `${folder}.tar`;
  try {
    await runTool('git', ['-C', ROOT, 'archive', '--format=tar', `--output=${archive}`, commit]);
    await runTool('tar', ['-xf', archive, '-C', folder]);
  } finally {
    await rm(archive, { force: true });
  }
  await runTool('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], {
    cwd: folder,
  });
  await runTool('npm', ['run', '--silent', 'build'], { cwd: folder });
}

import { delimiter, join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';

/**
 * Returns the environment that makes `curl` available: nothing where the system has it, otherwise PATH and LD_LIBRARY_PATH with
 * Debian's package in the per-user cache. Throws an Error that gives the reason when that fails.
 */
export async function environmentWithCurl(
  environment: NodeJS.ProcessEnv,
): Promise<Readonly<Record<string, string>>> {
  const options = { env: environment, timeoutMs: 10_000 };
  if ((await whyNotRunning('curl', ['--version'], options)) === undefined) {
    return {};
  }
  const unpacked = (folder: string) => ({
    PATH: `${join(folder, 'usr', 'bin')}${delimiter}${environment.PATH}`,
    LD_LIBRARY_PATH: libraryPath(folder),
  });
  const folder = await unpackedPackages(
    {
      name: 'curl',
      packages: ['curl'],
      whyNot: (place) =>
        whyNotRunning(join(place, 'usr', 'bin', 'curl'), ['--version'], {
          env: { ...environment, ...unpacked(place) },
          timeoutMs: 10_000,
        }),
    },
    environment,
  );
  return unpacked(folder);
}

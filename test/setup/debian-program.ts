import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';

/** The command and environment that run a program. */
export interface DebianProgram {
  readonly command: string;
  readonly environment: Record<string, string>;
}

const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/**
 * Finds a program on the system, or unpacks the Debian package of the same name into the per-user cache. `path` is its place in the
 * package, and `version` is the argument that prints its version. Throws an Error when neither works.
 */
export async function findProgram(name: string, path: string, version: string): Promise<DebianProgram> {
  const whyNot = ({ command, environment }: DebianProgram) =>
    whyNotRunning(command, [version], { env: environment, timeoutMs: 10_000 });
  const installed = { command: name, environment: { PATH: PATHS } };
  if ((await whyNot(installed)) === undefined) {
    return installed;
  }
  const programIn = (folder: string) => ({
    command: join(folder, path),
    environment: { PATH: PATHS, LD_LIBRARY_PATH: libraryPath(folder) },
  });
  const choice = { name, packages: [name], whyNot: (folder: string) => whyNot(programIn(folder)) };
  return programIn(await unpackedPackages(choice, process.env));
}

import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';

/** How to run a program. */
export interface DebianProgram {
  readonly command: string;
  readonly environment: Record<string, string>;
}

const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/**
 * The program of this system, or of Debian's package of the same name unpacked into the per-user cache. `path` is where the package
 * has it, `version` makes it say its version and end. Throws an Error when there is neither.
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

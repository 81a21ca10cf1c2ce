import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PrivateApt } from '../../ops/embedded/private-apt.ts';
import { runCommand } from '../../ops/embedded/run-command.ts';
import { dependencies, libraryPath, unpackedPackages } from './debian-packages.ts';

/** How to run a Python program that imports swift. */
export interface SwiftPython {
  readonly command: string;
  readonly environment: Record<string, string>;
}

/** The modules that Swift's proxy with its S3 middleware imports, and the native libraries of those. */
const MODULES =
  'swift eventlet greenlet pastedeploy pyeclib xattr netifaces requests urllib3 chardet charset-normalizer idna certifi lxml dnspython six monotonic cffi-backend pkg-resources'
    .split(' ')
    .map((name) => `python3-${name}`);
const LIBRARIES = /^(lib(xml2|xslt1|icu|erasurecode)[\w.-]*)$/;
const PYTHON =
  /^((lib)?python3(\.\d+)?(-minimal|-stdlib)?|lib(expat1|ffi|bz2|lzma|sqlite3|ssl|crypt|uuid|zstd)[\w.-]*|zlib1g|media-types)$/;
const PROBE = 'import swift.proxy.server, swift.obj.mem_server, swift.common.middleware.s3api.s3api';

/**
 * Finds OpenStack Swift in the per-user cache, or fetches its Debian packages there (about 14 MB, once). Throws an Error that says
 * why there is none: a test of S3 without an S3 server proves nothing.
 */
export async function findSwift(environment: NodeJS.ProcessEnv): Promise<SwiftPython> {
  const works = async (folder: string) => (await pythonIn(folder)) !== undefined;
  const folder = await unpackedPackages({ name: 'swift', packages: packageNames, works }, environment);
  const python = await pythonIn(folder);
  if (python === undefined) {
    throw new Error(`OpenStack Swift in ${folder} does not run any more`);
  }
  return python;
}

async function pythonIn(folder: string): Promise<SwiftPython | undefined> {
  const own = ['/usr/bin/python3', join(folder, 'usr', 'bin', 'python3')];
  const environment = {
    PATH: '/usr/bin:/bin',
    PYTHONPATH: join(folder, 'usr', 'lib', 'python3', 'dist-packages'),
    PYTHONDONTWRITEBYTECODE: '1',
    LD_LIBRARY_PATH: libraryPath(folder),
  };
  for (const command of own.filter(existsSync)) {
    const probe = await runCommand(command, ['-c', PROBE], { env: environment, timeoutMs: 60_000 });
    if (probe.code === 0) {
      return { command, environment };
    }
  }
  return undefined;
}

async function packageNames(apt: PrivateApt): Promise<string[]> {
  const python = existsSync('/usr/bin/python3')
    ? []
    : ['python3', ...(await dependencies(apt, ['python3'], PYTHON))];
  const libraries = await dependencies(apt, ['python3-lxml', 'python3-pyeclib'], LIBRARIES);
  return [...new Set([...MODULES, ...libraries, ...python])];
}

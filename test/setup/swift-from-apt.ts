import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';

/** The command and environment that run a Python program that imports swift. */
export interface SwiftPython {
  readonly command: string;
  readonly environment: Record<string, string>;
}

/** The modules that Swift's proxy with its S3 middleware imports, and their native libraries. */
const MODULES =
  'swift eventlet greenlet pastedeploy pyeclib xattr netifaces requests urllib3 chardet charset-normalizer idna certifi lxml dnspython six monotonic cffi-backend pkg-resources'
    .split(' ')
    .map((name) => `python3-${name}`);
/** Dependencies for installing packages that nothing here runs. */
const NOT_NEEDED =
  /^(adduser|wget|ca-certificates|sgml-base|xml-core|docutils-common|python3-(docutils|roman))$/;
const SYSTEM_PYTHON = '/usr/bin/python3';
const PROBE = 'import swift.proxy.server, swift.obj.mem_server, swift.common.middleware.s3api.s3api';

/**
 * Finds OpenStack Swift in the per-user cache, or downloads its Debian packages there once (about 14 MB). Throws an Error that gives
 * the reason when that fails: an S3 test without an S3 server proves nothing.
 */
export async function findSwift(environment: NodeJS.ProcessEnv): Promise<SwiftPython> {
  const whyNot = async (folder: string) => {
    const found = await pythonIn(folder);
    return typeof found === 'string' ? found : undefined;
  };
  const python = existsSync(SYSTEM_PYTHON) ? [] : ['python3'];
  const choice = { name: 'swift', packages: [...MODULES, ...python], without: NOT_NEEDED, whyNot };
  const folder = await unpackedPackages(choice, environment);
  const found = await pythonIn(folder);
  if (typeof found === 'string') {
    throw new Error(`OpenStack Swift in ${folder} does not run any more: ${found}`);
  }
  return found;
}

/** Returns the first Python that can import swift, otherwise the reason why the last one cannot. */
async function pythonIn(folder: string): Promise<SwiftPython | string> {
  const libraries = libraryPath(folder);
  // OpenSSL loads these by an absolute path that does not exist here
  const openssl = libraries
    .split(':')
    .map((place) => join(place, 'ossl-modules'))
    .find(existsSync);
  const environment = {
    PATH: '/usr/bin:/bin',
    PYTHONPATH: join(folder, 'usr', 'lib', 'python3', 'dist-packages'),
    PYTHONDONTWRITEBYTECODE: '1',
    LD_LIBRARY_PATH: libraries,
    ...(openssl === undefined ? {} : { OPENSSL_MODULES: openssl }),
  };
  let reason = 'there is no Python';
  for (const command of [SYSTEM_PYTHON, join(folder, SYSTEM_PYTHON)].filter(existsSync)) {
    const problem = await whyNotRunning(command, ['-c', PROBE], { env: environment, timeoutMs: 60_000 });
    if (problem === undefined) {
      return { command, environment };
    }
    reason = problem;
  }
  return reason;
}

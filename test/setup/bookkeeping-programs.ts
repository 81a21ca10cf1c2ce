import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';
import { type DebianProgram, findProgram } from './debian-program.ts';

/** The programs that check a journal, and their arguments before its path. */
export interface JournalChecks {
  readonly hledger: DebianProgram & { readonly checks: readonly string[] };
  readonly beancount: DebianProgram & { readonly checks: readonly string[] };
}

const SYSTEM_PYTHON = '/usr/bin/python3';
/** The imports of beancount 2 (Debian 12) or 3 (Debian 13) for its check. The package also brings importers and a web page. */
const MODULES = ['beancount', 'click', 'dateutil', 'ply', 'regex', 'six'].map((name) => `python3-${name}`);
const NOT_NEEDED = /^python3-(?!minimal$)/;
const CHECK = ['-m', 'beancount.scripts.check'];

/**
 * Finds hledger and beancount on the system, or unpacks Debian's packages into the per-user cache. Throws an Error that gives the
 * reason when neither works: a journal that no bookkeeping program has read proves nothing.
 */
export async function findJournalChecks(): Promise<JournalChecks> {
  const hledger = await findProgram('hledger', 'usr/bin/hledger', '--version');
  // customer names are not limited to ASCII
  const environment = { ...hledger.environment, LC_ALL: 'C.UTF-8' };
  return {
    hledger: { ...hledger, environment, checks: ['check', '-f'] },
    beancount: { ...(await findBeancount()), checks: CHECK },
  };
}

async function findBeancount(): Promise<DebianProgram> {
  const python = existsSync(SYSTEM_PYTHON) ? [] : ['python3'];
  const whyNot = (folder: string) => {
    const { command, environment: env } = pythonIn(folder);
    return whyNotRunning(command, [...CHECK, '--help'], { env, timeoutMs: 60_000 });
  };
  const choice = { name: 'beancount', packages: [...MODULES, ...python], without: NOT_NEEDED, whyNot };
  return pythonIn(await unpackedPackages(choice, process.env));
}

function pythonIn(folder: string): DebianProgram {
  return {
    command: existsSync(SYSTEM_PYTHON) ? SYSTEM_PYTHON : join(folder, SYSTEM_PYTHON),
    environment: {
      PATH: '/usr/bin:/bin',
      PYTHONPATH: join(folder, 'usr', 'lib', 'python3', 'dist-packages'),
      PYTHONDONTWRITEBYTECODE: '1',
      LD_LIBRARY_PATH: libraryPath(folder),
    },
  };
}

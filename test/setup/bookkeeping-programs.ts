import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { whyNotRunning } from '../../ops/embedded/run-command.ts';
import { libraryPath, unpackedPackages } from './debian-packages.ts';
import { type DebianProgram, findProgram } from './debian-program.ts';

/** Programs that check a journal, and the arguments before its path. */
export interface JournalChecks {
  readonly hledger: DebianProgram & { readonly checks: readonly string[] };
  readonly beancount: DebianProgram & { readonly checks: readonly string[] };
}

const SYSTEM_PYTHON = '/usr/bin/python3';
/** What the check of beancount 2 (Debian 12) or 3 (Debian 13) imports; the package brings importers and a web page besides. */
const MODULES = ['beancount', 'click', 'dateutil', 'ply', 'regex', 'six'].map((name) => `python3-${name}`);
const NOT_NEEDED = /^python3-(?!minimal$)/;
const CHECK = ['-m', 'beancount.scripts.check'];

/**
 * hledger and beancount of this system, or Debian's packages unpacked into the per-user cache. Throws an Error that says why there
 * is none: a journal that no bookkeeping program has read proves nothing.
 */
export async function findJournalChecks(): Promise<JournalChecks> {
  const hledger = await findProgram('hledger', 'usr/bin/hledger', '--version');
  // names of customers are no ASCII
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

import { readFileSync, statSync } from 'node:fs';
import { runCommand } from './run-command.ts';
import { StartFailure } from './start-failure.ts';

export type ServiceUser = { uid: number; gid: number; name: string };

const PREFERRED_NAMES = ['postgres', 'nobody', 'daemon'];

/**
 * Returns the account that Postgres must run as; undefined means the current user. Postgres refuses to run as root and needs an
 * entry in /etc/passwd, so as root we run it as another existing account. An existing cluster keeps its owner. Throws
 * StartFailure when root finds no such account.
 */
export function findServiceUser(clusterFolder: string): ServiceUser | undefined {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const owner = statSync(clusterFolder, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) {
    return { uid: owner.uid, gid: owner.gid, name: nameOf(owner.uid) };
  }
  const accounts = readAccounts();
  for (const name of PREFERRED_NAMES) {
    const account = accounts.find((candidate) => candidate.name === name && candidate.uid !== 0);
    if (account !== undefined) {
      return account;
    }
  }
  throw new StartFailure(
    'Postgres does not run as root, and /etc/passwd has no other account to run it as. Start as a normal user, or set DATABASE_URL.',
  );
}

/** Returns whether that account may enter the folder, including all its parents. */
export async function canEnter(folder: string, user: ServiceUser | undefined): Promise<boolean> {
  if (user === undefined) {
    return true;
  }
  const result = await runCommand('/bin/sh', ['-c', 'test -x "$0" && cd "$0"', folder], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
    timeoutMs: 10_000,
  });
  return result.code === 0;
}

function nameOf(uid: number): string {
  return readAccounts().find((account) => account.uid === uid)?.name ?? `user ${uid}`;
}

function readAccounts(): ServiceUser[] {
  let text = '';
  try {
    text = readFileSync('/etc/passwd', 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .filter((line) => line.includes(':') && !line.startsWith('#'))
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }));
}

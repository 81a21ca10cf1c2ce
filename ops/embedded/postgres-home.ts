import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { explainFileError, StartFailure } from './start-failure.ts';
import { canEnter, findServiceUser, type ServiceUser } from './unprivileged-user.ts';

export type PostgresHome = {
  /** Folder that holds the cluster and, if needed, a copy of the programs. */
  folder: string;
  /** The cluster itself (PGDATA). */
  cluster: string;
  user: ServiceUser | undefined;
  /** True when the data folder cannot be entered by `user`, so the cluster lives elsewhere. */
  moved: boolean;
};

/**
 * Decides where the cluster lives and under which account. It lives in `dataDir`, except when we are root and the
 * account lent to Postgres cannot enter that folder (a clone below /root): then in /var/lib/tollgate-<hash>, with a
 * link in the data folder. Throws StartFailure when neither place works.
 */
export async function findPostgresHome(dataDir: string): Promise<PostgresHome> {
  const cluster = join(dataDir, 'postgres');
  const user = findServiceUser(cluster);
  if (await canEnter(dataDir, user)) {
    return { folder: dataDir, cluster, user, moved: false };
  }
  // Passing through is enough; the files inside that hold secrets are readable by their owner only.
  chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  if (await canEnter(dataDir, user)) {
    return { folder: dataDir, cluster, user, moved: false };
  }
  const folder = linkedFolder(cluster) ?? newFolder(dataDir);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o711 });
  } catch (error) {
    throw explainFileError(error, folder);
  }
  const elsewhere = findServiceUser(join(folder, 'postgres'));
  if (!(await canEnter(folder, elsewhere))) {
    throw new StartFailure(
      `Postgres runs as ${elsewhere?.name ?? 'another user'}, who can enter neither ${dataDir} nor ${folder}. Set DATA_DIR to a folder everyone can enter.`,
    );
  }
  linkCluster(cluster, join(folder, 'postgres'));
  return { folder, cluster: join(folder, 'postgres'), user: elsewhere, moved: true };
}

/** Where an earlier start put the cluster: it stays there even if the data folder has moved since. */
function linkedFolder(cluster: string): string | undefined {
  const existing = lstatSync(cluster, { throwIfNoEntry: false });
  return existing?.isSymbolicLink() ? dirname(resolve(dirname(cluster), readlinkSync(cluster))) : undefined;
}

function newFolder(dataDir: string): string {
  const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 12);
  return `/var/lib/tollgate-${hash}`;
}

function linkCluster(link: string, target: string): void {
  const existing = lstatSync(link, { throwIfNoEntry: false });
  if (existing?.isDirectory()) {
    throw new StartFailure(
      `${link} is below a folder that its account cannot enter. Move it to where it was, or set DATA_DIR.`,
    );
  }
  if (existing !== undefined) {
    return;
  }
  try {
    // A data folder that was deleted is meant to begin anew; what it pointed to is kept all the same.
    if (existsSync(target)) {
      renameSync(target, `${target}.before-${Date.now()}`);
    }
    symlinkSync(target, link);
  } catch (error) {
    throw explainFileError(error, link);
  }
}

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
  /** Folder of the cluster and, if needed, of a copy of the programs. */
  folder: string;
  /** Folder of the cluster itself (PGDATA). */
  cluster: string;
  user: ServiceUser | undefined;
  /** Whether the cluster is elsewhere because `user` cannot enter the data folder. */
  moved: boolean;
};

/**
 * Decides where the cluster is stored and which account it runs as. It is stored in `dataDir`, unless we are root and the account
 * that Postgres runs as cannot enter that folder (a clone below /root): then in /var/lib/tollgate-<hash>, with a link in the data
 * folder. Throws StartFailure when neither location works.
 */
export async function findPostgresHome(dataDir: string): Promise<PostgresHome> {
  const cluster = join(dataDir, 'postgres');
  const user = findServiceUser(cluster);
  if (await canEnter(dataDir, user)) {
    return { folder: dataDir, cluster, user, moved: false };
  }
  // The account only needs to pass through; the files inside that hold secrets are readable by their owner only.
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

/** Returns where an earlier start put the cluster: it stays there even if the data folder has moved since. */
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
      `${link} is below a folder that its account cannot enter. Move it back, or set DATA_DIR.`,
    );
  }
  if (existing !== undefined) {
    return;
  }
  try {
    // Deleting a data folder means starting over; the cluster it pointed to is still kept.
    if (existsSync(target)) {
      renameSync(target, `${target}.before-${Date.now()}`);
    }
    symlinkSync(target, link);
  } catch (error) {
    throw explainFileError(error, link);
  }
}

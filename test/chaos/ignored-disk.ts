import { queryOwner } from './audit.ts';
import type { ChaosDatabase } from './services.ts';

/**
 * Commits on this database do not wait for the disk: a disk that takes 300 ms and more to sync once in a while decides the p99 of any
 * calls, whoever else is there.
 */
export async function ignoreDisk({ ownerUrl }: ChaosDatabase): Promise<void> {
  const name = new URL(ownerUrl).pathname.slice(1);
  await queryOwner(ownerUrl, `ALTER DATABASE ${name} SET synchronous_commit = off`);
}

import { queryOwner } from './audit.ts';
import type { ChaosDatabase } from './services.ts';

/**
 * Makes commits on this database not wait for the disk. A disk that occasionally takes 300 ms or more to sync would determine the p99 of
 * all calls, with or without neighbors.
 */
export async function ignoreDisk({ ownerUrl }: ChaosDatabase): Promise<void> {
  const name = new URL(ownerUrl).pathname.slice(1);
  await queryOwner(ownerUrl, `ALTER DATABASE ${name} SET synchronous_commit = off`);
}

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { openAccounts } from '../measure/accounts.ts';
import { profileSummary } from '../measure/profile.ts';
import { markdownTable } from '../measure/table.ts';
import { saturate } from './load.ts';
import { productTarget, startChatProduct, startUpstream } from './targets.ts';

const CONNECTIONS = 64;

/** Prints where one API process spends its time, from start to stop, while calls keep it busy. */
export async function profileApi(seconds: number): Promise<void> {
  const folder = ownTemporaryFolder('bench-profile');
  const upstream = await startUpstream(join(folder, 'upstream.log'));
  try {
    const product = await startChatProduct(join(folder, 'product'), upstream, {
      settings: { API_PROCESSES: '1' },
      apiOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`],
    });
    try {
      const keys = await openAccounts(product.url, product.adminToken, 1);
      await saturate(productTarget('Tollgate', product, upstream, keys), 'plain', CONNECTIONS, seconds);
    } finally {
      await product.stop();
    }
    const rows = profileSummary(folder).map(([place, share]) => [place, `${(share * 100).toFixed(1)} %`]);
    process.stdout.write(`${markdownTable([['busy time of the API process', 'share'], ...rows])}\n`);
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

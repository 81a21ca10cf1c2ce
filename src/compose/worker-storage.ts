import { join } from 'node:path';
import type { AppOptions } from '../app.ts';
import { createStorageTokenGuard } from '../generations/storage-token-guard.ts';
import { mediaUploadPage, workerStoragePage } from '../generations/worker-storage.routes.ts';
import { UsedUploads } from '../media/used-uploads.ts';
import type { Foundation } from './foundation.ts';
import { acceptedStorageTokens } from './storage.ts';

const UPLOAD_IDLE_MS = 30_000;
const UPLOAD_TOTAL_MS = 1_800_000;

/** The storage of this API for workers on hosts without one. */
export function composeWorkerStorage({
  config,
  clock,
  storage,
  uploads,
  grantUpload,
}: Foundation): AppOptions['surroundings']['pages'] {
  if (!grantUpload) {
    return [];
  }
  const guard = createStorageTokenGuard([...acceptedStorageTokens(config), config.adminToken], clock);
  const folder = join(config.dataFolder, 'uploads');
  const used = new UsedUploads(folder, clock);
  return [
    {
      path: '/internal/v1',
      handler: workerStoragePage({ storage, guard, grantUpload, publicUrl: config.publicUrl }),
    },
    {
      path: '/media-upload',
      handler: mediaUploadPage(uploads, {
        storage,
        folder,
        used,
        idleMs: UPLOAD_IDLE_MS,
        totalMs: UPLOAD_TOTAL_MS,
      }),
    },
  ];
}

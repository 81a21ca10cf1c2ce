import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What test/setup/environment.js removes when the test file and all its hooks are done. */
declare global {
  var temporaryFolders: string[];
}

/** A new folder `tollgate-<purpose>-…` in the system's temporary one, which every account may enter. It goes when the test file is done. */
export function temporaryFolder(purpose: string): string {
  const folder = ownTemporaryFolder(purpose);
  globalThis.temporaryFolders.push(folder);
  return folder;
}

/** {@link temporaryFolder} that the caller removes: where it goes with something that is closed, or nothing of Jest runs. */
export function ownTemporaryFolder(purpose: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${purpose}-`));
  chmodSync(folder, 0o711);
  return folder;
}

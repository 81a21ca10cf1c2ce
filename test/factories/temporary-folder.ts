import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folders that test/setup/environment.js removes when the test file and all its hooks are done. */
declare global {
  var temporaryFolders: string[];
}

/**
 * Creates a folder `tollgate-<purpose>-…` in the system's temporary folder, which every user account may enter. It is removed when the test
 * file is done.
 */
export function temporaryFolder(purpose: string): string {
  const folder = ownTemporaryFolder(purpose);
  globalThis.temporaryFolders.push(folder);
  return folder;
}

/** {@link temporaryFolder} that the caller removes, for folders that belong to something that is closed, or outside of Jest. */
export function ownTemporaryFolder(purpose: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${purpose}-`));
  chmodSync(folder, 0o711);
  return folder;
}

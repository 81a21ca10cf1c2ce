import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder that others may pass through: Postgres runs under another account where this process is root. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-bench-${name}-`));
  chmodSync(folder, 0o711);
  return folder;
}

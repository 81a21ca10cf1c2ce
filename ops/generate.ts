import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { generateSchema } from './generate-schema.ts';

/** Writes the generated files that are kept in the repository and compared by the tests. */

const SCHEMA_FILE = fileURLToPath(new URL('../migrations/schema.sql', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'tollgate-generate-'));
chmodSync(folder, 0o711);
try {
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    durable: false,
    logFile: join(folder, 'postgres.log'),
  });
  await generateSchema(postgres.ownerUrl, SCHEMA_FILE).finally(() => postgres.stop());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleTypes } from './console-types.ts';
import { startEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { generateSchema } from './generate-schema.ts';
import { documentOf, routePathsModule } from './openapi-routes.ts';
import { CHART_SCHEMA_FILE, chartSchema } from './reference/chart-schema.ts';
import { REFERENCES } from './reference/references.ts';

/** Writes the generated files that are committed to the repository and compared by the tests. */

const OPENAPI_FILE = new URL('../openapi.json', import.meta.url);
const REFERENCE_FOLDER = new URL('../docs/reference/', import.meta.url);
const ROUTE_PATHS_FILE = new URL('../src/catalog/route-paths.gen.ts', import.meta.url);
const CONSOLE_TYPES_FILE = new URL('../console/api/types.gen.ts', import.meta.url);
const SCHEMA_FILE = fileURLToPath(new URL('../migrations/schema.sql', import.meta.url));

const document = documentOf();
writeFileSync(OPENAPI_FILE, `${JSON.stringify(document, null, 2)}\n`);
writeFileSync(ROUTE_PATHS_FILE, routePathsModule());
writeFileSync(CONSOLE_TYPES_FILE, consoleTypes(document));
writeFileSync(CHART_SCHEMA_FILE, chartSchema());

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

// after the schema, because one reference describes it
for (const [file, text] of REFERENCES) {
  writeFileSync(new URL(file, REFERENCE_FOLDER), text());
}

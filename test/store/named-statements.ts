import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SqlStatement } from '../../src/store/statement.ts';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));

/** Returns every statement of the product, as exported by the files next to the stores. */
export async function namedStatements(): Promise<SqlStatement[]> {
  const files = readdirSync(SOURCES, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.sql.ts'));
  const modules: object[] = [];
  for (const file of files) {
    // sequential: Jest may link a module before a dependency that it shares with another one is loaded
    modules.push(await import(`${SOURCES}${file}`));
  }
  return modules
    .flatMap((module) => Object.values(module).flat())
    .filter(
      (value): value is SqlStatement => typeof value?.name === 'string' && typeof value.text === 'string',
    );
}

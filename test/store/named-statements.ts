import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SqlStatement } from '../../src/store/statement.ts';

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));

/** Every statement of the product, as the files beside the stores export them. */
export async function namedStatements(): Promise<SqlStatement[]> {
  const files = readdirSync(SOURCES, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.sql.ts'));
  const modules: object[] = [];
  for (const file of files) {
    // one after the other: Jest may link a module before what it shares with another one is there
    modules.push(await import(`${SOURCES}${file}`));
  }
  return modules
    .flatMap((module) => Object.values(module).flat())
    .filter(
      (value): value is SqlStatement => typeof value?.name === 'string' && typeof value.text === 'string',
    );
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { ROOT } from './compose-file.ts';

const PAGE = readFileSync(join(ROOT, 'docs/reference/data-model.md'), 'utf8');
const questions = [...PAGE.matchAll(/```sql\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block.split(/;\n+/).filter((text) => text.trim() !== ''),
);

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.close();
});

test('the data model page has some example queries', () => {
  expect(questions.length).toBeGreaterThanOrEqual(3);
});

test.each(questions)('this example query of the data model runs and is read-only: %s', async (text) => {
  await client.query('BEGIN READ ONLY');
  const { fields } = await client.query(text);
  await client.query('ROLLBACK');
  expect(fields.length).toBeGreaterThan(1);
});

import { execFile } from 'node:child_process';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let folder: string;

beforeAll(async () => {
  folder = temporaryFolder('first');
  server = await startTestServer();
});
afterAll(async () => {
  await server?.close();
});

const run = async (): Promise<string> => {
  const entry = await compiled('src/operators/first-start.ts');
  const env = { ...process.env, DATABASE_URL: server.test.url, DATA_DIR: folder };
  const { stdout } = await promisify(execFile)(process.execPath, [entry], { env });
  return stdout.trim();
};
const secret = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim();

test('the first start creates the account, a second one changes nothing, a lost key file is replaced', async () => {
  expect(await run()).toBe('account default created with 10.00 USD');
  const key = await secret('owner.key');
  const credits = await server.call('GET', '/api/v1/credits', { key });
  expect(credits.json.data).toMatchObject({ remaining_credits: '10.00', total_credits: '10.00' });
  expect((await server.call('GET', '/api/v1/key', { key })).json.data.role).toBe('owner');
  expect((await stat(join(folder, 'owner.key'))).mode & 0o777).toBe(0o600);

  expect(await run()).toBe('the first account already exists');
  expect(await secret('owner.key')).toBe(key);

  await rm(join(folder, 'owner.key'));
  expect(await run()).toContain('new owner key');
  const next = await secret('owner.key');
  expect(next).not.toBe(key);
  const { json } = await server.call('GET', '/api/v1/credits', { key: next });
  expect(json.data.remaining_credits).toBe('10.00');
});

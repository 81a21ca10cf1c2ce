import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';

const CATALOG = fileURLToPath(new URL('../../tollgate.yaml', import.meta.url));

let server: OperatorServer;
let file: string;

beforeAll(async () => {
  file = join(temporaryFolder('aliases'), 'tollgate.yaml');
  await writeFile(file, await readFile(CATALOG));
  server = await startOperatorServer({ redisDatabase: 7, environment: { TOLLGATE_CONFIG: file } });
});

afterAll(() => server?.close());

/** Writes these aliases into the file. Returns whether they took effect. */
async function reloadWith(aliases: object): Promise<boolean> {
  await writeFile(file, stringify({ ...parse(await readFile(CATALOG, 'utf8')), aliases }));
  return await server.foundation.catalogSource.reload();
}

/** Returns 401 for a route that requires a key and 404 where no route exists. */
async function statusOf(path: string): Promise<number> {
  return (await server.call('POST', path, { token: null, body: {} })).status;
}

test('reloading the file adds new alias paths and headers and removes the ones it turns off', async () => {
  expect([await statusOf('/v1/messages'), await statusOf('/v2/messages')]).toEqual([401, 404]);
  const paths = { '/v2/messages': '/vendorx/v1/messages', '/v1/messages': null, '/v1/*': null };
  expect(await reloadWith({ paths, headers: { 'x-token': 'authorization' } })).toBe(true);
  expect([await statusOf('/v1/messages'), await statusOf('/v2/messages')]).toEqual([404, 401]);
  const headers = { 'x-token': 'Bearer not-a-key' };
  const named = await server.call('POST', '/v2/messages', { token: null, body: {}, headers });
  expect(named.json.error.code).toBe('invalid_api_key');
});

test.each([
  ['leads nowhere', { '/v3/messages': '/nothing' }],
  ['hides a route', { '/api/v1/chat/completions': '/vendorx/v1/messages' }],
])('rejects a file with an alias that %s and keeps the previous aliases', async (_, paths) => {
  await reloadWith({ paths: { '/v2/messages': '/vendorx/v1/messages' } });
  expect(await reloadWith({ paths })).toBe(false);
  expect([await statusOf('/v2/messages'), await statusOf('/v3/messages')]).toEqual([401, 404]);
  expect(server.log.text).toContain('catalog not reloaded');
});

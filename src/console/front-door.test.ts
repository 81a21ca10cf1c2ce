import { writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { rootRedirect } from './static.pages.ts';

let folder: string;
let server: Server | undefined;

beforeEach(async () => {
  folder = temporaryFolder('front-door');
});
afterEach(async () => {
  server?.close();
});

async function get(path: string, accept: string): Promise<[number, string | null]> {
  server?.close();
  const app = express().use(rootRedirect(folder));
  server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server?.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', headers: { accept } });
  return [answer.status, answer.headers.get('location')];
}

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('a browser is redirected to the docs, and to the console once it is built', async () => {
  expect(await get('/', BROWSER)).toEqual([302, 'docs']);
  await writeFile(join(folder, 'index.html'), '');
  expect(await get('/', BROWSER)).toEqual([302, 'console']);
});

test('programs and other paths are not redirected', async () => {
  expect(await get('/', '*/*')).toEqual([404, null]);
  expect(await get('/other', BROWSER)).toEqual([404, null]);
});

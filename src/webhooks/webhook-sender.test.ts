import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { UNTRUSTED } from '../../test/factories/untrusted-certificate.ts';
import type { ResolveAll } from '../lib/ip-address.ts';
import { WebhookSender } from './webhook-sender.ts';

function resolver(addresses: LookupAddress[]): ResolveAll {
  return (_hostname, callback) => callback(null, addresses);
}

async function send(resolve: ResolveAll, url = 'https://hooks.example/') {
  const sender = new WebhookSender({ allowPrivateTargets: false, timeoutMs: 1_500, resolve });
  const result = await sender.send(url, {}, '{}');
  await sender.close();
  return result;
}

test('rejects a name that resolves to a private address, even among public ones', async () => {
  const loopback = { address: '127.0.0.1', family: 4 };
  const open = { address: '1.1.1.1', family: 4 };
  for (const addresses of [[loopback], [open, loopback], [{ address: '::ffff:10.0.0.1', family: 6 }], []]) {
    expect(await send(resolver(addresses))).toMatchObject({ error: 'target_refused', retryable: false });
  }
});

test('rejects private addresses and anything but https before connecting', async () => {
  const never: ResolveAll = () => {
    throw new Error('nothing to resolve');
  };
  for (const url of ['https://[::7f00:1]/', 'https://127.1/', 'http://1.1.1.1/', 'ftp://1.1.1.1/']) {
    expect(await send(never, url)).toMatchObject({ error: 'target_refused', retryable: false });
  }
});

test('retries a name that does not resolve', async () => {
  const failing: ResolveAll = (_hostname, callback) =>
    callback(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  expect(await send(failing)).toMatchObject({ error: 'name_not_resolved', retryable: true });
});

test('gives up on an endpoint that never answers when its time limit is over', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const sender = new WebhookSender({ allowPrivateTargets: true, timeoutMs: 150 });
  const { port } = silent.address() as AddressInfo;
  const result = await sender.send(`http://127.0.0.1:${port}/`, {}, '{}');
  await sender.close();
  silent.closeAllConnections();
  silent.close();
  expect(result).toMatchObject({ status: null, error: 'timeout', retryable: true });
  expect(result.durationMs).toBeGreaterThanOrEqual(150);
});

test('an untrusted certificate, and a port without TLS, are told from an endpoint that does not answer', async () => {
  const sender = new WebhookSender({ allowPrivateTargets: true });
  const answer = (_: unknown, response: { end(): unknown }) => void response.end();
  for (const server of [createTlsServer(UNTRUSTED, answer), createServer(answer)]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const result = await sender.send(`https://localhost:${port}/`, {}, '{}');
    expect(result).toMatchObject({ status: null, error: 'tls_failed', retryable: true });
    server.close();
  }
  await sender.close();
});

test.each([
  ['apart', ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok']],
  ['together', ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok']],
])('an endpoint that sends 100 Continue first accepts an event, %s', async (_how, parts) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', async (chunk) => {
      // once a request, whose body may arrive after its head
      for (const part of String(chunk).endsWith('{}') ? parts : []) {
        socket.write(part);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sender = new WebhookSender({ allowPrivateTargets: true });
  for (let event = 0; event < 2; event += 1) {
    const result = await sender.send(`http://127.0.0.1:${port}/`, {}, '{}');
    expect(result).toMatchObject({ status: 200, error: null });
  }
  await sender.close();
  server.close();
});

import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { checkTarget, guardedLookup, RefusedTargetError, type ResolveAll } from './guarded-lookup.ts';
import { isPublicAddress } from './public-address.ts';
import { WebhookSender } from './webhook-sender.ts';

const PRIVATE_LITERALS = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://0/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data',
  'https://100.64.0.1/',
  'https://192.0.0.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
];

test.each(PRIVATE_LITERALS)('%s is refused before anything connects', (url) => {
  expect(() => checkTarget(new URL(url))).toThrow(RefusedTargetError);
});

test.each([
  'https://1.1.1.1/',
  'https://[2606:4700:4700::1111]/',
  'https://example.com/',
  'https://8.8.8.8:8443/',
])('%s passes', (url) => {
  expect(() => checkTarget(new URL(url))).not.toThrow();
});

test.each(['http://1.1.1.1/', 'http://example.com/', 'ftp://example.com/'])('%s is not https', (url) => {
  expect(() => checkTarget(new URL(url))).toThrow('https');
});

test('text that is no address is not public', () => {
  expect(['', 'localhost', '1.2.3', '::g', '1.1.1.1 '].map(isPublicAddress)).toEqual(Array(5).fill(false));
});

/** A resolver with prepared answers, one per question; the last one stays. */
function resolver(...answers: LookupAddress[][]): ResolveAll & { asked: number } {
  const resolve: ResolveAll & { asked: number } = Object.assign(
    ((_hostname, callback) => {
      resolve.asked += 1;
      callback(null, answers.length > 1 ? (answers.shift() ?? []) : (answers[0] ?? []));
    }) as ResolveAll,
    { asked: 0 },
  );
  return resolve;
}

async function send(resolve: ResolveAll, url = 'https://hooks.example/') {
  const sender = new WebhookSender({ allowPrivateTargets: false, timeoutMs: 1_500, resolve });
  const result = await sender.send(url, {}, '{}');
  await sender.close();
  return result;
}

test('a name that resolves to a private address, also among public ones, is refused', async () => {
  const loopback = { address: '127.0.0.1', family: 4 };
  const open = { address: '1.1.1.1', family: 4 };
  for (const addresses of [[loopback], [open, loopback], [{ address: '::ffff:10.0.0.1', family: 6 }], []]) {
    expect(await send(resolver(addresses))).toMatchObject({ error: 'target_refused', retryable: false });
  }
});

test('rebinding gains nothing: a socket gets exactly the addresses that were checked, and each socket checks anew', async () => {
  const open = [
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ];
  const resolve = resolver(open, [{ address: '127.0.0.1', family: 4 }]);
  const lookup = guardedLookup(resolve);
  const ask = () =>
    new Promise((settle) => lookup('hooks.example', { all: true }, (error, found) => settle(error ?? found)));
  expect(await ask()).toEqual(open);
  expect(resolve.asked).toBe(1);
  expect(await ask()).toBeInstanceOf(RefusedTargetError);
});

test('a name that does not resolve may resolve later', async () => {
  const failing: ResolveAll = (_hostname, callback) =>
    callback(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  expect(await send(failing)).toMatchObject({ error: 'name_not_resolved', retryable: true });
});

test('an endpoint that never answers costs its time limit and no more', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const sender = new WebhookSender({ allowPrivateTargets: true, timeoutMs: 150 });
  const { port } = silent.address() as AddressInfo;
  const result = await sender.send(`http://127.0.0.1:${port}/`, {}, '{}');
  await sender.close();
  silent.closeAllConnections();
  silent.close();
  expect(result).toMatchObject({ status: null, error: 'timeout', retryable: true });
  expect(result.durationMs).toBeLessThan(1_000);
});

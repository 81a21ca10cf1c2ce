import type { LookupAddress } from 'node:dns';
import { expect, test } from '@jest/globals';
import {
  isPrivateAddress,
  isPublicAddress,
  NotPublicError,
  publicLookup,
  type ResolveAll,
  rejectPrivateLiteral,
} from './ip-address.ts';

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
  'https://[::7f00:1]/',
  'https://[::a9fe:a9fe]/',
  'https://[4000::1]/',
];

test.each(PRIVATE_LITERALS)('%s is rejected before anything connects', (url) => {
  expect(() => rejectPrivateLiteral(new URL(url))).toThrow(NotPublicError);
});

test.each([
  'https://1.1.1.1/',
  'https://[2606:4700:4700::1111]/',
  'https://example.com/',
  'http://8.8.8.8:8443/',
])('%s passes', (url) => {
  expect(() => rejectPrivateLiteral(new URL(url))).not.toThrow();
});

test('text that is not an address is not public', () => {
  expect(['', 'localhost', '1.2.3', '::g', '1.1.1.1 '].map(isPublicAddress)).toEqual(Array(5).fill(false));
});

test('an address can be neither public nor private', () => {
  expect(['169.254.169.254', '100.64.0.1', '0.0.0.0'].map(isPublicAddress)).toEqual([false, false, false]);
  expect(['169.254.169.254', '100.64.0.1', '0.0.0.0'].map(isPrivateAddress)).toEqual([false, false, false]);
});

type Found = LookupAddress[] | Error | null;

function lookUp(lookup: ReturnType<typeof publicLookup>, host = 'hooks.example'): Promise<Found> {
  return new Promise((settle) =>
    lookup(host, { all: true }, (error, found) => settle(error ?? (found as LookupAddress[]))),
  );
}

test('a lookup returns exactly the addresses it checked, and checks every time', async () => {
  const open = [
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ];
  const answers = [
    open,
    [{ address: '127.0.0.1', family: 4 }],
    [open[0]!, { address: '10.0.0.1', family: 4 }],
    [],
  ];
  const resolve: ResolveAll = (_host, callback) => callback(null, answers.shift() ?? []);
  const lookup = publicLookup({ resolve });
  expect(await lookUp(lookup)).toEqual(open);
  for (const _ of ['private now', 'private among public ones', 'none']) {
    expect(await lookUp(lookup)).toBeInstanceOf(NotPublicError);
  }
});

test('a name that does not resolve makes the lookup fail, also with the system resolver', async () => {
  const missing = Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  expect(await lookUp(publicLookup({ resolve: (_host, callback) => callback(missing) }))).toBe(missing);
  expect(await lookUp(publicLookup(), 'a name with spaces')).toMatchObject({ syscall: 'getaddrinfo' });
});

test('a host the operator configured may be private', async () => {
  const own = [{ address: '10.0.0.1', family: 4 }];
  const lookup = publicLookup({
    exemptHost: 'engine.internal',
    resolve: (_host, callback) => callback(null, own),
  });
  expect(await lookUp(lookup, 'engine.internal')).toEqual(own);
  expect(await lookUp(lookup, 'cdn.example')).toBeInstanceOf(NotPublicError);
});

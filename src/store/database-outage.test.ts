import { expect, test } from '@jest/globals';
import { isDatabaseOutage } from './database-outage.ts';

const coded = (code: string) => Object.assign(new Error('x'), { code });

test.each([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  '08006',
  '53300',
  '57P01',
  '57P05',
  '25006',
  '25P03',
  '25P04',
])('%s is an outage', (code) => {
  expect(isDatabaseOutage(coded(code))).toBe(true);
  expect(isDatabaseOutage(new Error('y', { cause: coded(code) }))).toBe(true);
});

test.each([
  'timeout expired',
  'timeout exceeded when trying to connect',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Query read timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
])('"%s", which the driver says without a code, is an outage', (message) => {
  expect(isDatabaseOutage(new Error(message))).toBe(true);
});

test.each([coded('23505'), coded('42P01'), coded('TG001'), new Error('Client error'), 'ECONNREFUSED', null])(
  '%s is none',
  (error) => {
    expect(isDatabaseOutage(error)).toBe(false);
  },
);

import { localUrl, readSettings } from './settings.ts';

const root = '/srv/tollgate';

test('the defaults give a loopback server with its data beside the code', () => {
  expect(readSettings({}, root)).toEqual({
    port: 8080,
    host: '127.0.0.1',
    dataDir: '/srv/tollgate/.data',
    configFile: '/srv/tollgate/tollgate.yaml',
    publicUrl: 'http://127.0.0.1:8080',
    databaseUrl: undefined,
    ownerUrl: undefined,
    redisUrl: undefined,
    adminToken: undefined,
    secret: undefined,
    drainMs: 35_000,
    logBytesMax: 100_000_000,
  });
});

test('an external database is owned by the application role unless DATABASE_OWNER_URL is set', () => {
  const settings = readSettings({ DATABASE_URL: 'postgres://a:b@host/db' }, root);
  expect(settings.ownerUrl).toBe('postgres://a:b@host/db');
});

test.each([
  { DATABASE_URL: 'postgres://u:p@one:5432,two:5432/db' },
  { DATABASE_URL: 'postgresql:///db?host=/run/postgresql&user=u' },
  { REDIS_URL: 'unix:///run/redis.sock?db=0' },
  { REDIS_URL: 'redis+sentinel://u:p@one:26379,two:26379/mymaster' },
  { REDIS_URL: 'valkeys+sentinel://u:p@one:26379,two:26379/mymaster' },
])('%j is an address that an installation may have', (environment) => {
  expect(() => readSettings(environment, root)).not.toThrow();
});

test.each([
  [{ PORT: '0' }, /^PORT is "0"/],
  [{ PORT: '80a' }, /^PORT is "80a"/],
  [{ PORT: '70000' }, /^PORT/],
  [{ DRAIN_SECONDS: '-1' }, /^DRAIN_SECONDS is "-1"/],
  [{ LOG_KEEP_MB: '4' }, /^LOG_KEEP_MB is "4", but must be a number from 5/],
  [{ LOG_KEEP_MB: '1 GB' }, /^LOG_KEEP_MB/],
  [{ HOST: 'a host' }, /^HOST is "a host"/],
  [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL must be a URL that starts with postgres:\/\//],
  [{ DATABASE_URL: 'postgres://u:p@host' }, /^DATABASE_URL has no database/],
  [{ DATABASE_OWNER_URL: 'postgres://u:p#x@host/d' }, /^DATABASE_OWNER_URL cannot be parsed/],
  [{ REDIS_URL: 'localhost:6379' }, /^REDIS_URL must be a URL/],
  [{ REDIS_URL: 'redis+sentinel://one:26379' }, /^REDIS_URL names no master/],
  [{ REDIS_URL: 'redis://:p@q@host' }, /^REDIS_URL cannot be parsed: percent-encode/],
  [{ PUBLIC_URL: 'example.org' }, /^PUBLIC_URL must be a URL/],
  [{ TOLLGATE_SECRET: 'x'.repeat(31) }, /^TOLLGATE_SECRET has 31 characters/],
])('%j is rejected by name', (environment, message) => {
  expect(() => readSettings(environment, root)).toThrow(message);
});

test('a password in a bad URL is not repeated', () => {
  expect(() => readSettings({ DATABASE_URL: 'mysql://u:hunter2@h/d' }, root)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hunter2') as string }) as Error,
  );
});

test('the address shown can be opened in a browser', () => {
  expect(localUrl('0.0.0.0', 80)).toBe('http://127.0.0.1:80');
  expect(localUrl('::1', 80)).toBe('http://[::1]:80');
});

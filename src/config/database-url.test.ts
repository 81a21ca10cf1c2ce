import { ConfigError } from './config-error.ts';
import { connectTimeoutMs, databaseAddresses, isPrivateWay } from './database-url.ts';

test.each<[string, object[]]>([
  [
    'postgres://u:p%40w@db.example/tollgate',
    [{ host: 'db.example', user: 'u', password: 'p@w', database: 'tollgate' }],
  ],
  ['postgresql://u:p@h:6543/d', [{ host: 'h', port: 6543 }]],
  ['postgresql://u:p@[::1]:6543/d', [{ host: '::1', port: 6543 }]],
  [
    'postgresql:///d?host=/run/pg&port=46001&user=u&password=p',
    [{ host: '/run/pg', port: 46001, user: 'u' }],
  ],
  ['postgresql://u:p@%2Frun%2Fpg:46001/d', [{ host: '/run/pg', port: 46001, database: 'd' }]],
  [
    'postgresql://u:p@a:1,b:2,c/d?target_session_attrs=read-write',
    [{ host: 'a', port: 1 }, { host: 'b', port: 2 }, { host: 'c' }],
  ],
  [
    'postgresql://u:p@/d?host=a,b&port=1,2',
    [
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ],
  ],
  [
    'postgresql://u:p@a,b/d?port=7',
    [
      { host: 'a', port: 7 },
      { host: 'b', port: 7 },
    ],
  ],
  ['postgresql://u:p@h/d?sslmode=require', [{ ssl: {} }]],
  ['postgresql://u:p@h/d?sslmode=no-verify', [{ ssl: { rejectUnauthorized: false } }]],
  ['postgresql://u:p@h/d?sslmode=disable', [{ ssl: false }]],
])('%s', (url, addresses) => {
  expect(databaseAddresses(url)).toMatchObject(addresses);
});

test('the time to connect is the one in the URL, which the client library does not see', () => {
  expect(connectTimeoutMs('postgres://u:p@h/d')).toBe(3_000);
  expect(connectTimeoutMs('postgres://u:p@a,b/d?sslmode=disable&connect_timeout=10')).toBe(10_000);
  expect(databaseAddresses('postgres://u:p@h/d?connect_timeout=10')[0]).not.toHaveProperty('connect_timeout');
});

test.each<[string, string]>([
  ['mysql://u:p@h/d', 'must be a URL that starts with postgres://'],
  ['postgres://u:p@h', 'has no database'],
  ['postgres://u:secret@h/d?sslmode=allow', 'has sslmode=allow; it must be one of disable'],
  [
    'postgres://u:secret@a,b/d?target_session_attrs=any',
    'has target_session_attrs=any; only read-write is supported',
  ],
  ['postgres://u:secret@h/d?connect_timeout=0', 'has connect_timeout=0; it must be a whole number'],
  ['postgres://u:secret@h/d?connect_timeout=5s', 'has connect_timeout=5s; it must be a whole number'],
  ['postgres://u:secret@h/d?connect_timeout=61', 'has connect_timeout=61; it must be a whole number'],
  ['postgres://u:secret@a,b,c/d?port=1,2', 'must name one port for each host'],
  ['postgres://u:secret@h/d?sslrootcert=/nowhere/ca.pem', 'names a certificate that cannot be read'],
  ['postgres://u:secret@h:port/d', 'cannot be parsed'],
  ['postgres://u:my#secret@h/d', 'cannot be parsed: percent-encode special characters'],
])('%s is rejected with a message that says why, without the password', (url, words) => {
  const message = (() => {
    try {
      databaseAddresses(url);
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      return (error as Error).message;
    }
    return '';
  })();
  expect(message).toContain(`DATABASE_URL ${words}`);
  expect(message).not.toContain('secret');
});

test('recognizes connections that cannot be overheard', () => {
  const isPrivate = (url: string) => databaseAddresses(url).every(isPrivateWay);
  expect(isPrivate('postgres://u:p@db/d')).toBe(false);
  expect(isPrivate('postgres://u:p@db/d?sslmode=require')).toBe(true);
  expect(isPrivate('postgres://u:p@127.0.0.1/d')).toBe(true);
  expect(isPrivate('postgres:///d?host=/run/pg&user=u')).toBe(true);
});

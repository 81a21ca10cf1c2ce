import { redisAddress, redisPlace } from './redis-url.ts';

test.each<[string, object]>([
  ['redis://h', { host: 'h', port: 6379 }],
  ['redis://:p%40w@h:7000/3', { host: 'h', port: 7000, password: 'p@w', db: 3 }],
  [
    'rediss://u:p@h.example',
    { host: 'h.example', port: 6379, username: 'u', password: 'p', tls: { servername: 'h.example' } },
  ],
  ['rediss://u:p@127.0.0.1', { host: '127.0.0.1', port: 6379, username: 'u', password: 'p', tls: {} }],
  ['valkey://h:1', { host: 'h', port: 1 }],
  ['valkeys://[::1]:1', { host: '::1', port: 1, tls: {} }],
  ['unix:///run/redis.sock?db=2', { path: '/run/redis.sock', db: 2 }],
  [
    'redis+sentinel://u:p@a:1,b/main?sentinel_password=s&db=4',
    {
      ...{ username: 'u', password: 'p', name: 'main', role: 'master', failoverDetector: true, db: 4 },
      ...{
        sentinelPassword: 's',
        sentinels: [
          { host: 'a', port: 1 },
          { host: 'b', port: 26379 },
        ],
      },
    },
  ],
])('%s', (url, address) => {
  expect(redisAddress(url)).toEqual(address);
});

test.each<[string, string]>([
  ['http://h', 'must be a URL that starts with redis://'],
  ['h:6379', 'must be a URL that starts with redis://'],
  ['redis://a,b', 'names several hosts'],
  ['redis://h/main', 'has an invalid database number: main'],
  ['redis+sentinel://a:1', 'names no master'],
  ['redis://h:65536', 'has an invalid port: 65536'],
  ['redis://:pa@ss@h', 'percent-encode special characters in the password'],
  ['redis://:pa/ss@h', 'percent-encode special characters in the password'],
  ['redis://:pa#ss@h', 'percent-encode special characters in the password'],
  ['redis://:pa%ss@h', 'percent-encode special characters in the password'],
])('%s is rejected with a message that says why', (url, words) => {
  expect(() => redisAddress(url)).toThrow(words);
});

test('the form for logs contains no password', () => {
  expect(redisPlace(redisAddress('redis://u:secret@h:7'))).toBe('h:7');
  expect(redisPlace(redisAddress('redis+sentinel://u:secret@a:1,b/m'))).toBe('a:1,b:26379');
});

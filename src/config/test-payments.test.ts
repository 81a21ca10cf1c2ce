import { ConfigError, loadConfig } from './config.ts';

const SOUND = {
  DATABASE_URL: 'postgres://tollgate@localhost/tollgate',
  REDIS_URL: 'redis://localhost:6379',
  TOLLGATE_SECRET: 'x'.repeat(32),
  ADMIN_TOKEN: 'y'.repeat(24),
};

test.each<[boolean, Record<string, string>]>([
  [true, {}],
  [true, { HOST: 'localhost' }],
  [true, { HOST: '::1' }],
  [true, { HOST: '127.0.0.2', PUBLIC_URL: 'http://127.0.0.2:8080' }],
  [false, { TEST_PAYMENTS: 'refuse' }],
  // others can reach the page, or could after a change to the proxy
  [false, { HOST: '0.0.0.0' }],
  [false, { HOST: '::' }],
  [false, { HOST: '10.0.0.5' }],
  [false, { HOST: 'gateway.internal' }],
  [false, { HOST: '127.evil.example' }],
  [false, { PUBLIC_URL: 'https://models.example.com' }],
  [false, { TRUSTED_PROXIES: '1' }],
  [false, { LISTEN_SOCKET: '/run/tollgate.sock' }],
  [true, { TEST_PAYMENTS: 'allow', HOST: '0.0.0.0', PUBLIC_URL: 'https://trial.example.com' }],
  // in production credits must be paid for
  [false, { NODE_ENV: 'production' }],
  [false, { NODE_ENV: 'production', TEST_PAYMENTS: 'refuse' }],
])('test payments: %s with %j', (expected, environment) => {
  expect(loadConfig({ ...SOUND, ...environment }).testPayments).toBe(expected);
});

test.each([{ TEST_PAYMENTS: 'yes' }, { TEST_PAYMENTS: 'allow', NODE_ENV: 'production' }])(
  '%j prevents the start with one line that names the setting',
  (environment) => {
    const load = () => loadConfig({ ...SOUND, ...environment });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow(/^TEST_PAYMENTS [^\n]+$/);
  },
);

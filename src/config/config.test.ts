import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { ConfigError, loadConfig } from './config.ts';

const SOUND = {
  DATABASE_URL: 'postgres://tollgate@localhost/tollgate',
  REDIS_URL: 'redis://localhost:6379',
  TOLLGATE_SECRET: 'x'.repeat(32),
  ADMIN_TOKEN: 'y'.repeat(24),
};

test('a valid environment gives a configuration with the documented defaults', () => {
  expect(loadConfig(SOUND)).toMatchObject({
    port: 8080,
    host: '127.0.0.1',
    publicUrl: 'http://127.0.0.1:8080',
    drainMs: 30_000,
    stripe: null,
    production: false,
  });
});

test('a former secret counts with its spaces, and without those after a comma', () => {
  const [spaced, plain] = [`${'a'.repeat(32)} `, 'b'.repeat(32)];
  const { previousSecrets } = loadConfig({ ...SOUND, TOLLGATE_SECRET_PREVIOUS: `${spaced}, ${plain}` });
  expect(previousSecrets).toEqual(expect.arrayContaining([spaced, plain]));
});

test.each([
  ['PORT', 'eighty'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['DATABASE_URL', 'mysql://localhost/x'],
  ['DATABASE_URL', ''],
  ['REDIS_URL', 'localhost:6379'],
  ['PUBLIC_URL', 'not a url'],
  ['TOLLGATE_SECRET', 'short'],
  ['TOLLGATE_SECRET_PREVIOUS', `${'x'.repeat(32)},short`],
  ['ADMIN_TOKEN', 'short'],
  ['ADMIN_TOKENS', 'alice'],
  ['ADMIN_TOKENS', 'alice:short'],
  ['ADMIN_TOKENS', `al ice:${'a'.repeat(24)}`],
  ['ADMIN_TOKENS', `operator:${'a'.repeat(24)}`],
  ['ADMIN_TOKENS', `alice:${'a'.repeat(24)},alice:${'b'.repeat(24)}`],
  ['ADMIN_TOKENS', `alice:${'a'.repeat(24)},bob:${'a'.repeat(24)}`],
  ['LISTEN_SOCKET', 'relative.sock'],
  ['API_PROCESSES', '0'],
  ['API_PROCESSES', 'all'],
  ['LOG_LEVEL', 'loud'],
  ['LEDGER_PLANS', 'none'],
  ['TOLLGATE_CELLS', '2'],
  ['STRIPE_WEBHOOK_SECRET', 'weak'],
  ['HOST', '999.1.1.1'],
  ['HOST', 'a b'],
  ['HOST', 'localhost:8080'],
  ['HOST', 'localhost/x'],
  ['METRICS_HOST', '10.0.0'.repeat(200)],
  ['METRICS_HOST', '[::1]'],
  ['PUBLIC_URL', 'https://x/y?z=1'],
  ['PUBLIC_URL', 'https://x/y#z'],
  ['PUBLIC_URL', 'https://u:p@x'],
  ['STORAGE_URL', 'https://x/y?z=1'],
  ['S3_ENDPOINT', 'https://id:secret@s3.example.com'],
  ['WORKER_API', 'https://u:p@x'],
  ['OIDC_ISSUER', 'https://id.example.com/?tenant=1'],
  ['BOOKS_ROOTS_WEBHOOK', 'https://u:p@x/roots'],
  ['ADMIN_TOKENS', 'bob:'],
  ['ADMIN_TOKENS', `bob:${SOUND.ADMIN_TOKEN}`],
  ['OIDC_OPERATOR_CLAIM', 'groups'],
  ['OIDC_OPERATOR_VALUE', 'operators'],
  ['OIDC_NAME', 'Acme'],
  ['OIDC_SCOPES', 'openid'],
  ['OIDC_TRUST_EMAIL', 'yes'],
  ['OTEL_TRACES_SAMPLER_ARG', '0.05'],
  ['STORAGE_URL', 'https://x'],
  ['WORKER_TOKEN', 'w'.repeat(32)],
  ['NODE_ENV', 'prod'],
  ['ADMIN_TOKEN', 'a token of several words'],
  ['ADMIN_TOKEN', `${'y'.repeat(24)}\0`],
  ['ADMIN_TOKENS', 'alice:a token of several words'],
  ['PUBLIC_URL', 'https:models.example.com'],
  ['REDIS_URL', 'redis://:one@two@localhost'],
])('%s=%s prevents the start with one line that names the setting', (name, value) => {
  const load = () => loadConfig({ ...SOUND, [name]: value });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(new RegExp(`^${name} [^\\n]+$`));
});

test('ignores what echo, Windows and editors leave at the ends of a value', () => {
  for (const end of ['\n', '\r\n', ' ']) {
    const given = {
      ...{ PORT: `81${end}`, PUBLIC_URL: `https://models.example.com${end}`, STORAGE: end },
      ...{ ADMIN_TOKEN: `\ufeff${SOUND.ADMIN_TOKEN}${end}`, NOT_OURS: end },
      ...{ STRIPE_SECRET_KEY: `sk_live_0123456789${end}`, STRIPE_WEBHOOK_SECRET: `whsec_0123456789${end}` },
    };
    expect(loadConfig({ ...SOUND, ...given })).toMatchObject({
      ...{ port: 81, publicUrl: 'https://models.example.com', adminToken: SOUND.ADMIN_TOKEN },
      ...{ storage: { kind: 'fs' }, variables: { NOT_OURS: end } },
      stripe: { secretKey: 'sk_live_0123456789', webhookSecret: 'whsec_0123456789' },
    });
    const exact = `${SOUND.TOLLGATE_SECRET}${end}`;
    expect(loadConfig({ ...SOUND, TOLLGATE_SECRET: exact }).secret).toBe(exact);
  }
});

test('a worker token without its API is reported before the settings of a worker with a database', () => {
  expect(() => loadConfig({ WORKER_TOKEN: 'w'.repeat(32) })).toThrow(
    'WORKER_TOKEN has no effect without WORKER_API: set WORKER_API too, or remove WORKER_TOKEN',
  );
});

test('a token without a name is said to be one', () => {
  expect(() => loadConfig({ ...SOUND, ADMIN_TOKENS: 'bob' })).toThrow('must be name:token pairs');
});

test('the claim of operators needs the provider that states it', () => {
  const claim = { OIDC_OPERATOR_CLAIM: 'groups', OIDC_OPERATOR_VALUE: 'operators' };
  expect(() => loadConfig({ ...SOUND, ...claim })).toThrow(/^OIDC_ISSUER is not set: /);
});

test.each([
  ['fe80::1%eth0', 'http://[fe80::1]:8080'],
  ['::', 'http://localhost:8080'],
  ['gateway_1.internal', 'http://gateway_1.internal:8080'],
])('HOST=%s may be listened on, and links begin with %s', (host, base) => {
  expect(loadConfig({ ...SOUND, HOST: host }).publicUrl).toBe(base);
});

test('reads secrets from files, and an ambiguous one prevents the start', () => {
  const folder = temporaryFolder('config');
  const path = join(folder, 'secret');
  writeFileSync(path, `${'z'.repeat(32)}\n`);
  const { TOLLGATE_SECRET: _, ...others } = SOUND;
  expect(loadConfig({ ...others, TOLLGATE_SECRET_FILE: path }).secret).toBe('z'.repeat(32));
  const both = () => loadConfig({ ...SOUND, TOLLGATE_SECRET_FILE: path });
  expect(both).toThrow(ConfigError);
  expect(both).toThrow(/^TOLLGATE_SECRET_FILE and TOLLGATE_SECRET are both set/);
});

test.each([
  [{}, null],
  [{ METRICS_HOST: '10.0.0.5' }, '10.0.0.5'],
  [{ METRICS_HOST: '127.0.0.1' }, null],
  [{ METRICS_HOST: '10.0.0.5', HOST: '0.0.0.0' }, null],
])('monitoring has its own address unless HOST covers it: %j', (given, expected) => {
  expect(loadConfig({ ...SOUND, ...given }).metricsHost).toBe(expected);
});

test('operators are the bearer of ADMIN_TOKEN and everyone in ADMIN_TOKENS', () => {
  const [alice, bob] = ['a'.repeat(24), `${'b'.repeat(24)}:with-a-colon`];
  expect(loadConfig({ ...SOUND, ADMIN_TOKENS: `alice:${alice}, bob:${bob}` }).operators).toEqual([
    { name: 'operator', token: SOUND.ADMIN_TOKEN },
    { name: 'alice', token: alice },
    { name: 'bob', token: bob },
  ]);
});

test('a Stripe key without a webhook secret prevents the start', () => {
  expect(() => loadConfig({ ...SOUND, STRIPE_SECRET_KEY: 'sk_test_0123456789abcdef' })).toThrow(
    'STRIPE_WEBHOOK_SECRET',
  );
});

import { ConfigError, UnavailableError } from '../config/config-error.ts';
import { listenFailure } from './listen-failure.ts';

const ADDRESS = {
  ...{ host: '10.0.0.5', port: 80 },
  ...({ hostSetting: 'METRICS_HOST', portSetting: 'PORT' } as const),
};

const failed = (code: string) => Object.assign(new Error(`listen ${code}`), { code });

test.each([
  ['EADDRINUSE', UnavailableError, /^PORT: port 80 of 10\.0\.0\.5 is in use/],
  ['EAI_AGAIN', UnavailableError, /^METRICS_HOST: /],
  ['EACCES', ConfigError, /^PORT: port 80 needs more privileges/],
  ['ENOTFOUND', ConfigError, /^METRICS_HOST: 10\.0\.0\.5 is not an address of this machine/],
  ['EADDRNOTAVAIL', ConfigError, /^METRICS_HOST: /],
])('%s of an address becomes one line that names the setting', (code, kind, words) => {
  const failure = listenFailure(failed(code), ADDRESS) as Error;
  expect(failure).toBeInstanceOf(kind);
  expect(failure.message).toMatch(words);
});

test.each([
  ['EADDRINUSE', UnavailableError],
  ['EACCES', ConfigError],
  ['ENOTDIR', ConfigError],
])('%s of a socket becomes one line that names the setting', (code, kind) => {
  const failure = listenFailure(failed(code), { path: '/run/api.sock' }) as Error;
  expect(failure).toBeInstanceOf(kind);
  expect(failure.message).toMatch(/^LISTEN_SOCKET: .*\/run\/api\.sock/);
});

test('any other error stays as it is', () => {
  const error = failed('EMFILE');
  expect(listenFailure(error, ADDRESS)).toBe(error);
  expect(listenFailure(error, { path: '/run/api.sock' })).toBe(error);
});

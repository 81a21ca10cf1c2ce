import { describe, expect, test } from '@jest/globals';
import { loadConfig } from './config.ts';

const REQUIRED = {
  DATABASE_URL: 'postgres://x@localhost/x',
  REDIS_URL: 'redis://localhost',
  TOLLGATE_SECRET: '0123456789abcdef0123456789abcdef',
  ADMIN_TOKEN: '0123456789abcdef0123456789',
};
const S3 = {
  S3_ENDPOINT: 'https://s3.example/',
  S3_REGION: 'eu-1',
  S3_BUCKET: 'media',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};
const load = (more: Record<string, string>) => loadConfig({ ...REQUIRED, ...more });

test('the local folder is the default', () => {
  expect(load({}).storage).toEqual({ kind: 'fs' });
  expect(load({ STORAGE: 'fs' }).storage).toEqual({ kind: 'fs' });
});

test('S3 is chosen by its settings', () => {
  const s3 = {
    endpoint: 'https://s3.example',
    region: 'eu-1',
    bucket: 'media',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    forcePathStyle: false,
    prefix: '',
  };
  expect(load(S3).storage).toEqual({ kind: 's3', s3 });
  expect(load({ ...S3, STORAGE: 's3', S3_FORCE_PATH_STYLE: 'true', S3_PREFIX: 'a/b/' }).storage).toEqual({
    kind: 's3',
    s3: { ...s3, forcePathStyle: true, prefix: 'a/b/' },
  });
});

test.each(Object.keys(S3))('S3 storage requires %s', (name) => {
  const { [name as keyof typeof S3]: _left, ...rest } = S3;
  expect(() => load(rest)).toThrow(
    `${name} is not set: S3 storage needs S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY`,
  );
});

describe('a mistake is one line that names the setting', () => {
  test.each([
    [{ STORAGE: 's3' }, 'S3_ENDPOINT is not set: S3 storage needs'],
    [{ S3_PREFIX: 'x' }, 'S3_ENDPOINT is not set: S3 storage needs'],
    [{ ...S3, STORAGE: 'fs' }, 'STORAGE is fs, but S3_ENDPOINT is set: remove one of them'],
    [{ STORAGE: 'remote' }, 'STORAGE_URL is not set: STORAGE=remote needs the URL of the API'],
    [{ STORAGE: 'remote', STORAGE_URL: 'ftp://x' }, 'STORAGE_URL must be a URL that starts with'],
    [{ ...S3, STORAGE: 'remote', STORAGE_URL: 'http://x' }, 'STORAGE is remote, but S3_ENDPOINT is set'],
    [{ STORAGE_URL: 'http://x' }, 'STORAGE_URL has no effect unless STORAGE is remote: set STORAGE=remote'],
    [{ ...S3, STORAGE_URL: 'http://x' }, 'STORAGE_URL has no effect unless STORAGE is remote'],
    [{ S3_FORCE_PATH_STYLE: 'true' }, 'S3_FORCE_PATH_STYLE has no effect without S3_ENDPOINT'],
    [{ STORAGE: 'tape' }, 'STORAGE must be fs, s3 or remote'],
    [{ STORAGE_TOKEN: 'short' }, 'STORAGE_TOKEN must have at least 32 characters'],
    [{ ...S3, S3_BUCKET: 'Not A Bucket' }, 'S3_BUCKET must be the name of a bucket'],
    [{ ...S3, S3_FORCE_PATH_STYLE: 'yes' }, 'S3_FORCE_PATH_STYLE must be true or false'],
    [{ ...S3, S3_PREFIX: '/x' }, 'S3_PREFIX must be a plain path'],
  ])('%p', (more, message) => {
    expect(() => load(more as Record<string, string>)).toThrow(message);
  });
});

test('remote storage has a URL', () => {
  expect(load({ STORAGE: 'remote', STORAGE_URL: 'https://api.example/base/' }).storage).toEqual({
    kind: 'remote',
    url: 'https://api.example/base',
  });
});

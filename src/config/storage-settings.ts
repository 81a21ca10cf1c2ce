import { z } from 'zod';
import { isBaseUrl, NO_BASE } from './addresses.ts';
import { ConfigError } from './config-error.ts';

/** Location and credentials of an S3 bucket. */
export interface S3Settings {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether URLs are `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly forcePathStyle: boolean;
  /** Prefix of every key: empty, or ends with a slash. */
  readonly prefix: string;
}

/** The storage a process uses. */
export type StorageChoice =
  | { readonly kind: 'fs' }
  | { readonly kind: 's3'; readonly s3: S3Settings }
  /** Through the installation's API, for workers on hosts without the folder or the bucket's credentials. */
  | { readonly kind: 'remote'; readonly url: string };

const httpUrl = z
  .url({ protocol: /^https?$/, message: 'must be a URL that starts with http:// or https://' })
  .refine(isBaseUrl, { message: NO_BASE });

/** The part of the environment that {@link storageChoice} reads. */
export const storageVariables = {
  STORAGE: z
    .enum(['fs', 's3', 'remote'], 'must be fs, s3 or remote')
    .optional()
    .describe('where [media](../storage.md) is stored; default: `s3` if `S3_*` is set, otherwise `fs`'),
  STORAGE_URL: httpUrl.optional().describe('with `STORAGE=remote`: the API of the installation'),
  STORAGE_TOKEN: z
    .string()
    .min(32, 'must have at least 32 characters; make one with: openssl rand -hex 32')
    .regex(/^[\x21-\x7e]{1,512}$/, 'must be plain characters without spaces')
    .optional()
    .meta({ allowed: '32 to 512 characters without spaces' })
    .describe(
      'authenticates workers with remote storage to the API; default: derived from `TOLLGATE_SECRET`',
    ),
  S3_ENDPOINT: httpUrl.optional().describe('URL of the store; set this and the next four together'),
  S3_REGION: z.string().min(1).optional().describe('region of the bucket'),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('name of the bucket'),
  S3_ACCESS_KEY_ID: z.string().min(1).optional().describe('credentials of the bucket'),
  S3_SECRET_ACCESS_KEY: z.string().min(1).optional().describe('credentials of the bucket'),
  S3_FORCE_PATH_STYLE: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .describe("`true`: `endpoint/bucket/key`, which most stores other than Amazon's need"),
  S3_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-][A-Za-z0-9._/-]{0,200}$/, 'must be a plain path like tollgate/media')
    .optional()
    .describe('prefix of every object key'),
};

type StorageVariables = z.output<z.ZodObject<typeof storageVariables>>;

const S3_REQUIRED = [
  'S3_ENDPOINT',
  'S3_REGION',
  'S3_BUCKET',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
] as const;

/**
 * Returns the storage selected by the environment: STORAGE if set, otherwise S3 if it is configured, otherwise the local folder.
 * Throws ConfigError for an incomplete configuration of S3 or remote storage.
 */
export function storageChoice(variables: StorageVariables): StorageChoice {
  const given = [...S3_REQUIRED, 'S3_PREFIX' as const].filter((name) => variables[name] !== undefined);
  const kind = variables.STORAGE ?? (given.length > 0 ? 's3' : 'fs');
  if (kind !== 's3' && given.length > 0) {
    throw new ConfigError(`STORAGE is ${kind}, but ${given[0]} is set: remove one of them`);
  }
  if (kind !== 'remote' && variables.STORAGE_URL !== undefined) {
    throw new ConfigError(
      'STORAGE_URL has no effect unless STORAGE is remote: set STORAGE=remote, or remove STORAGE_URL',
    );
  }
  switch (kind) {
    case 'fs':
      return { kind };
    case 's3':
      return { kind, s3: s3Settings(variables) };
    case 'remote':
      return { kind, url: remoteUrl(variables) };
  }
}

function remoteUrl({ STORAGE_URL: url }: StorageVariables): string {
  if (url === undefined) {
    throw new ConfigError('STORAGE_URL is not set: STORAGE=remote needs the URL of the API');
  }
  return url.replace(/\/+$/, '');
}

function s3Settings(variables: StorageVariables): S3Settings {
  const read = (name: (typeof S3_REQUIRED)[number]): string => {
    const value = variables[name];
    if (value === undefined) {
      throw new ConfigError(`${name} is not set: S3 storage needs ${S3_REQUIRED.join(', ')}`);
    }
    return value;
  };
  const prefix = variables.S3_PREFIX?.replace(/\/+$/, '') ?? '';
  return {
    endpoint: read('S3_ENDPOINT').replace(/\/+$/, ''),
    region: read('S3_REGION'),
    bucket: read('S3_BUCKET'),
    accessKeyId: read('S3_ACCESS_KEY_ID'),
    secretAccessKey: read('S3_SECRET_ACCESS_KEY'),
    forcePathStyle: variables.S3_FORCE_PATH_STYLE === 'true',
    prefix: prefix === '' ? '' : `${prefix}/`,
  };
}

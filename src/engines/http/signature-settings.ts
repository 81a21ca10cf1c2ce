import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';

const RSA_BITS_MIN = 2_048;
const HEADER_NAME = /^[A-Za-z0-9-]+$/;

const secret = z.string().min(1).max(4_000);
const word = z.string().min(1).max(2_000);

/** A private key as in a service account file. Environment variables often hold it on one line, with `\n` for line breaks. */
const rsaKey = z
  .string()
  .transform((text) => text.replaceAll('\\n', '\n'))
  .refine(isPrivateRsaKey, `must be a private RSA key of at least ${RSA_BITS_MIN} bits, in PEM`);

const hmac = z.strictObject({
  kind: z.literal('hmac'),
  header: z
    .string()
    .regex(HEADER_NAME, 'must be a header name')
    .describe('header that carries the signature'),
  secret: secret.describe('the secret key'),
  prefix: z.string().max(40).default('').describe('text before the signature, e.g. `sha256=`'),
});

const jwt = z
  .strictObject({
    kind: z.literal('jwt'),
    algorithm: z
      .enum(['HS256', 'RS256'])
      .default('HS256')
      .describe('`HS256`: signed with `secret`; `RS256`: with `private_key`'),
    issuer: word.describe('`iss`: the access key or the service account'),
    secret: secret.optional().describe('key for `HS256`'),
    private_key: rsaKey.optional().describe('key for `RS256`, in PEM'),
    key_id: word.optional().describe('`kid` in the header, if the service looks up the key by it'),
    subject: word.optional().describe('`sub`'),
    audience: word.optional().describe('`aud`'),
    claims: z.record(z.string().min(1), z.json()).default({}).describe('other claims, e.g. `scope`'),
    seconds: z.int().min(30).max(3_600).default(1_800).describe('how long a token is valid, in seconds'),
  })
  .refine(({ algorithm, secret: key }) => (algorithm === 'HS256') === (key !== undefined), {
    path: ['secret'],
    message: 'is the key for HS256: set it for HS256, and private_key for RS256',
  })
  .refine(({ algorithm, private_key: key }) => (algorithm === 'RS256') === (key !== undefined), {
    path: ['private_key'],
    message: 'is the key for RS256: set it for RS256, and secret for HS256',
  });

const oauth = z.strictObject({
  kind: z.literal('oauth'),
  token_url: z
    .url({ protocol: /^https?$/, message: 'must be an http(s) URL' })
    .describe('where tokens are requested, by POST'),
  client_id: word.describe('the id of the client'),
  client_secret: secret.describe('the secret of the client'),
  client_authentication: z
    .enum(['basic', 'body'])
    .default('basic')
    .describe('where the id and secret are sent: in `Authorization: Basic`, or in the form'),
  scope: word.optional().describe('the requested scopes, separated by spaces'),
  audience: word.optional().describe('the service that the token is for, if the token server requires it'),
});

const aws = z.strictObject({
  kind: z.literal('aws'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{2,40}$/, 'must be a region like us-east-1')
    .describe('e.g. `us-east-1`'),
  service: z
    .string()
    .regex(/^[a-z0-9-]{2,40}$/, 'must be the signing name of a service, like bedrock')
    .describe('its signing name, e.g. `bedrock`'),
  access_key_id: word.describe('id of the access key'),
  secret_access_key: secret.describe('secret of the access key'),
  session_token: secret.optional().describe('token of temporary credentials, which are not renewed'),
});

/** How calls are signed. Every kind but `hmac` sets `Authorization`. */
export const signatureSettings = z.discriminatedUnion('kind', [hmac, jwt, oauth, aws]);

export type SignatureSettings = z.output<typeof signatureSettings>;
export type JwtSettings = z.output<typeof jwt>;
export type OAuthSettings = z.output<typeof oauth>;
export type AwsSettings = z.output<typeof aws>;

function isPrivateRsaKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN;
  } catch {
    return false;
  }
}

import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';

const RSA_BITS_MIN = 2_048;
const HEADER_NAME = /^[A-Za-z0-9-]+$/;

const secret = z.string().min(1).max(4_000);
const word = z.string().min(1).max(2_000);

/** A key as the file of a service account has it: in environments its lines often stand behind each other, as `\n`. */
const rsaKey = z
  .string()
  .transform((text) => text.replaceAll('\\n', '\n'))
  .refine(isPrivateRsaKey, `must be a private RSA key of ${RSA_BITS_MIN} bits or more, in PEM`);

const hmac = z.strictObject({
  kind: z.literal('hmac'),
  header: z.string().regex(HEADER_NAME, 'must be a header name').describe('carries the signature'),
  secret: secret.describe('the secret key'),
  prefix: z.string().max(40).default('').describe('before the signature, e.g. `sha256=`'),
});

const jwt = z
  .strictObject({
    kind: z.literal('jwt'),
    algorithm: z
      .enum(['HS256', 'RS256'])
      .default('HS256')
      .describe('`HS256`: signed with `secret`; `RS256`: with `private_key`'),
    issuer: word.describe('`iss`: the access key, or the service account'),
    secret: secret.optional().describe('of `HS256`'),
    private_key: rsaKey.optional().describe('of `RS256`, in PEM'),
    key_id: word.optional().describe('`kid` of the header, where the service looks its key up by it'),
    subject: word.optional().describe('`sub`'),
    audience: word.optional().describe('`aud`'),
    claims: z.record(z.string().min(1), z.json()).default({}).describe('other claims, e.g. `scope`'),
    seconds: z.int().min(30).max(3_600).default(1_800).describe('for which a token is valid'),
  })
  .refine(({ algorithm, secret: key }) => (algorithm === 'HS256') === (key !== undefined), {
    path: ['secret'],
    message: 'is what HS256 signs with: set it for HS256, and private_key for RS256',
  })
  .refine(({ algorithm, private_key: key }) => (algorithm === 'RS256') === (key !== undefined), {
    path: ['private_key'],
    message: 'is what RS256 signs with: set it for RS256, and secret for HS256',
  });

const oauth = z.strictObject({
  kind: z.literal('oauth'),
  token_url: z
    .url({ protocol: /^https?$/, message: 'must be an http(s) URL' })
    .describe('where tokens are given out, by POST'),
  client_id: word.describe('who asks'),
  client_secret: secret.describe('the secret of the client'),
  client_authentication: z
    .enum(['basic', 'body'])
    .default('basic')
    .describe('where both stand: in `Authorization: Basic`, or in the form'),
  scope: word.optional().describe('what the token should be good for, words with spaces between'),
  audience: word.optional().describe('which service it is for, where the token server asks'),
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
  access_key_id: word.describe('of the access key'),
  secret_access_key: secret.describe('of the access key'),
  session_token: secret.optional().describe('of temporary credentials, which are not renewed'),
});

/** How calls are signed. Every kind but `hmac` makes `Authorization`. */
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

import { createHash, createHmac } from 'node:crypto';
import type { SeenRequest } from './engine-server.ts';

/** Credentials and what they may call. */
export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/** Maximum clock skew of a caller, in ms. */
const SKEW_MS = 300_000;
const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

/**
 * Returns what is wrong with the signature of a received request, or undefined when it is valid. Computed from AWS's description of
 * Signature Version 4, without the library that the product signs with. `now` is in Unix ms.
 */
export function awsSignatureMistake(
  { method, target, headers, text }: Pick<SeenRequest, 'method' | 'target' | 'headers' | 'text'>,
  key: AwsKey,
  now = Date.now(),
): string | undefined {
  const found = FORM.exec(headers.authorization ?? '');
  if (!found) {
    return 'Missing Authentication Token';
  }
  const [, id, day = '', region, service, names = '', signature] = found;
  const time = String(headers['x-amz-date'] ?? '');
  const isoTime = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (id !== key.accessKeyId || region !== key.region || service !== key.service || !time.startsWith(day)) {
    return 'The security token included in the request is invalid.';
  }
  if (!(Math.abs(Date.parse(isoTime) - now) < SKEW_MS)) {
    return 'Signature expired';
  }
  const signed = names.split(';');
  if (!['host', 'x-amz-date'].every((name) => signed.includes(name))) {
    return 'host and x-amz-date must be signed';
  }
  const canonical = [
    method,
    canonicalPath(target),
    canonicalQuery(target),
    ...signed.map(
      (name) =>
        `${name}:${String(headers[name] ?? '')
          .trim()
          .replaceAll(/ +/g, ' ')}`,
    ),
    '',
    names,
    sha256(text),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const signingKey = [day, key.region, key.service, 'aws4_request'].reduce<string | Buffer>(
    (made, part) => createHmac('sha256', made).update(part).digest(),
    `AWS4${key.secretAccessKey}`,
  );
  const expected = createHmac('sha256', signingKey).update(toSign).digest('hex');
  return expected === signature
    ? undefined
    : 'The request signature we calculated does not match the signature you provided.';
}

/** Encodes every path segment once more than it was sent. */
function canonicalPath(target: string): string {
  const [path = ''] = target.split('?', 1);
  return path.split('/').map(encoded).join('/');
}

function canonicalQuery(target: string): string {
  const pairs = [...new URL(target, 'http://aws').searchParams].map(
    ([name, value]) => `${encoded(name)}=${encoded(value)}`,
  );
  return pairs.sort().join('&');
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

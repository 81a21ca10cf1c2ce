import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../lib/errors.ts';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;

/**
 * Returns the secret that a request presents, as `Authorization: Bearer` or `x-api-key`. Throws AppError missing_api_key when there is
 * none, invalid_api_key when it is malformed or the two headers differ.
 */
export function presentedSecret(headers: IncomingHttpHeaders): string {
  const header = headers['x-api-key'];
  const direct = header === undefined || header === '' ? undefined : String(header);
  const bearer = headers.authorization === undefined ? undefined : bearerSecret(headers.authorization);
  if (bearer !== undefined && direct !== undefined && bearer !== direct) {
    throw new AppError('invalid_api_key', 'Authorization and x-api-key carry different keys');
  }
  const secret = bearer ?? direct;
  if (secret === undefined) {
    throw new AppError('missing_api_key', 'send an API key as "Authorization: Bearer <API_KEY>"');
  }
  return secret;
}

function bearerSecret(authorization: string): string {
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) {
    throw new AppError('invalid_api_key', 'the Authorization header must have the form "Bearer <API_KEY>"');
  }
  return secret;
}

/** Returns a cookie's value; undefined when the request has no cookie of that name. */
export function readCookie(headers: IncomingHttpHeaders, name: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [key, ...value] = part.trim().split('=');
    if (key === name) {
      return value.join('=');
    }
  }
  return undefined;
}

import { newUuid, publicId } from '../lib/ids.ts';

const ACCEPTED = /^[\x21-\x7e]{1,128}$/;

/** The caller's `x-request-id` when it is 1–128 visible ASCII characters, otherwise a new one. */
export function effectiveRequestId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : publicId('request', newUuid());
}

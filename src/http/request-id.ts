import { newRequestUuid, publicId } from '../lib/ids.ts';

const ACCEPTED = /^[\x21-\x7e]{1,128}$/;

/** What a request is called. */
export interface RequestId {
  readonly text: string;
  /** The id behind the text; undefined where the caller chose it, who may choose the same again. */
  readonly uuid: string | undefined;
}

/** The caller's `x-request-id` when it is 1–128 visible ASCII characters, otherwise a new id of that time (Unix ms). */
export function requestIdOf(header: string | readonly string[] | undefined, nowMs?: number): RequestId {
  if (typeof header === 'string' && ACCEPTED.test(header)) {
    return { text: header, uuid: undefined };
  }
  const uuid = newRequestUuid(nowMs);
  return { text: publicId('request', uuid), uuid };
}

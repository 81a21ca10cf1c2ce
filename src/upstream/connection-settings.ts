import { z } from 'zod';

/** Address of an API. A user and a password in it would be dropped, and every call rejected. */
export const baseUrlField = z
  .url({ protocol: /^https?$/, message: 'must be an http(s) URL' })
  .refine(
    (text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '',
    'must not contain a user or password: set `headers: { authorization: "Basic …" }` with the base64 of user:password',
  );

/** A key that is sent in a header. A line break at its end, as `echo` adds one to a Kubernetes Secret, would make every call fail. */
export const keyField = z
  .string()
  .regex(
    /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/,
    'must be ASCII without line breaks, and without spaces at its ends: it is sent in a header',
  );

/** Headers by name. Values are what HTTP allows: Latin-1 without line breaks. */
export const headersField = z.record(
  z.string().regex(/^[A-Za-z0-9-]+$/, 'must be a header name'),
  z
    .string()
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be Latin-1 without line breaks: it is sent in a header'),
);

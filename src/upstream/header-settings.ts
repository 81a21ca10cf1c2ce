import { z } from 'zod';

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

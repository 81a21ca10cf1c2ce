import { z } from 'zod';
import { kindsField, seedMaxField, sizeMultipleField, upstreamFields } from '../engine-settings.ts';
import { type SignatureSettings, signatureSettings } from './signature-settings.ts';
import { PLACEHOLDERS, unknownPlaceholder } from './template.ts';

/** A body of any shape whose strings contain placeholders for values of the request, e.g. `"{prompt}"`. */
const template = z.json().superRefine((value, context) => {
  const wrong = unknownPlaceholder(value);
  if (wrong !== undefined) {
    context.addIssue({
      code: 'custom',
      message: `{${wrong}} is not one of ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}, {size.…}`,
    });
  }
});
const path = z
  .string()
  .regex(/^\/[\x21-\x7e]*$/, 'must be a path that begins with /')
  .refine((text) => unknownPlaceholder(text) === undefined, 'contains an unknown placeholder');
/** The path to a value: members by name and, in lists, by index, e.g. `output.0.url`. */
const place = z
  .string()
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be a path like output.0.url: members by name or index');
const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']);
const pattern = z.string().refine((text) => {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}, 'is not a regular expression');

const places = z.union([place.transform((text) => [text]), z.array(place).min(1).max(8)], {
  error: 'must be a path like error.message, or a list of such paths',
});

const submit = z.strictObject({
  path: path.describe('where requests are POSTed; `{model}` is the model of the route'),
  encoding: z
    .enum(['json', 'multipart'])
    .default('json')
    .describe(
      'encoding of the body; with `multipart` each member is a field, and values other than strings are written as JSON',
    ),
  body: template.describe(
    'A string that is just one placeholder becomes its value (numbers stay numbers), or is omitted when the request has none; inside longer strings the value is inserted as text',
  ),
  reference: place.default('id').describe('where the response names the run'),
  error: places
    .optional()
    .describe('where a 200 response without a run or a result says why; the first path with a value counts'),
  timeout_ms: z
    .int()
    .min(10)
    .max(3_600_000)
    .default(300_000)
    .describe('limit for the single long call when there is no `poll`, in ms'),
});

const poll = z.strictObject({
  path: path.describe('`{reference}` is the run, `{model}` the model of the route'),
  body: template
    .optional()
    .describe(
      'body to POST as JSON, if the service expects one; when omitted, the poll is a GET without a body',
    ),
  state: place.default('status').describe('where the response gives the state of the run'),
  states: z
    .record(z.string(), z.enum(['queued', 'running', 'succeeded', 'failed', 'refused', 'canceled']))
    .describe(
      'what each of its states means (`""` stands for a missing state); a response with any other state counts as malformed. `refused` means failed because of its content',
    ),
  progress: place.optional().describe('where the response gives the progress of the run'),
  progress_max: z.number().positive().default(1).describe('the value of `progress` at the end'),
  error: places
    .optional()
    .describe(
      'where the response says why a run failed, or succeeded without a file; the first path with a value counts',
    ),
});

/** An entry of `engines:` of kind `http`: any service that accepts a request and either responds with the result or is polled for it. */
export const httpSettings = z
  .strictObject({
    ...upstreamFields,
    kinds: kindsField.describe('what it can generate'),
    size_multiple: sizeMultipleField
      .default(1)
      .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
    seed_max: seedMaxField
      .default(2 ** 31 - 1)
      .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
    paid: z
      .boolean()
      .default(true)
      .describe(
        'whether each accepted request is billed; if so, a request whose response was lost is never sent again',
      ),
    key_scheme: z
      .string()
      .max(40)
      .default('Bearer')
      .describe(
        'word before the key in `Authorization`; for another header omit `api_key` and use `headers`',
      ),
    signature: signatureSettings
      .optional()
      .describe('how every call to `base_url` is signed; the members of each kind are listed below'),
    idempotency_header: z
      .string()
      .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
      .optional()
      .describe(
        "header with a key of the run, if the service responds to a repeated request with the run of the first; it is the task's id, and `-1`, `-2` … are added once runs have failed",
      ),
    sizes: z
      .record(z.string().regex(/^\d{2,5}\*\d{2,5}$/, 'must be like 1280*720'), z.record(z.string(), z.json()))
      .optional()
      .describe(
        'the values of `{size.…}` by requested size, e.g. `{ "1280*720": { aspect: "16:9" } }`; other sizes are rejected',
      ),
    submit: submit.describe('the call that starts a run'),
    poll: poll
      .optional()
      .describe('how a run is polled; when omitted, the response to `submit` is the result'),
    output: place
      .default('output')
      .describe(
        'where the last response has the file, as set by `output_encoding`; of a list the first is used',
      ),
    output_encoding: z
      .enum(['url', 'base64'])
      .default('url')
      .describe('`base64`: the file is in the response'),
    fetch: z
      .strictObject({
        path: path.describe('`{output}` is the value at `output`, `{reference}` the run'),
        output: place.describe('where its response has the URL of the file'),
      })
      .optional()
      .describe('one more GET, if the last response names a file by id'),
    refused: z
      .strictObject({
        at: place.describe('where the last response says so'),
        words: z
          .array(z.string().min(1))
          .min(1)
          .max(20)
          .describe('the values that mean it; `true` for a flag'),
      })
      .optional()
      .describe('how the service says that it blacked out or blurred an output because of its content'),
    cost: place.optional().describe('where the last response to `poll` gives the cost of the run, in USD'),
    cancel: z
      .strictObject({
        method: method.default('POST').describe('HTTP method'),
        path: path.describe('`{reference}` is the run'),
      })
      .optional()
      .describe('the call that stops a run; when omitted, runs cannot be stopped'),
    content_refused: pattern
      .default('content.?(policy|moderat)|nsfw|safety|moderation|sensitive')
      .describe('regular expression for errors that mean the content was refused; case-insensitive'),
    misconfigured: pattern
      .default(
        '(insufficient|exceeded|not enough).{0,20}(balance|quota|credit)|invalid.{0,10}(api.?key|token)|billing',
      )
      .describe(
        'regular expression for errors that only the operator can fix, when the status does not say so; case-insensitive',
      ),
  })
  .refine(
    ({ sizes, submit: { body, path: to } }) =>
      sizes !== undefined || !/\{size\./.test(JSON.stringify([body, to])),
    {
      path: ['sizes'],
      message: 'is required for {size.…}',
    },
  )
  .refine(({ fetch, output_encoding }) => fetch === undefined || output_encoding === 'url', {
    path: ['fetch'],
    message: 'names files by URL: omit output_encoding',
  })
  .refine(({ api_key, signature }) => api_key === '' || !makesAuthorization(signature), {
    path: ['api_key'],
    message: 'conflicts with signature, which sets Authorization; set only one of them',
  })
  .refine(
    ({ headers, signature }) =>
      !makesAuthorization(signature) ||
      !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
    {
      path: ['headers', 'authorization'],
      message: 'conflicts with signature, which sets it; set only one of them',
    },
  )
  .refine(
    ({ submit: { encoding }, signature }) =>
      encoding === 'json' || (signature?.kind !== 'hmac' && signature?.kind !== 'aws'),
    { path: ['submit', 'encoding'], message: 'must be json: the signature covers the body' },
  );

function makesAuthorization(signature: SignatureSettings | undefined): boolean {
  return signature !== undefined && signature.kind !== 'hmac';
}

export type HttpEngineSettings = z.output<typeof httpSettings>;

import { z } from 'zod';
import { kindsField, seedMaxField, sizeMultipleField, upstreamFields } from '../engine-settings.ts';
import { type SignatureSettings, signatureSettings } from './signature-settings.ts';
import { PLACEHOLDERS, unknownPlaceholder } from './template.ts';

/** A body of any shape whose texts name what the order says, e.g. `"{prompt}"`. */
const template = z.json().superRefine((value, context) => {
  const wrong = unknownPlaceholder(value);
  if (wrong !== undefined) {
    context.addIssue({
      code: 'custom',
      message: `{${wrong}} is none of ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}, {size.…}`,
    });
  }
});
const path = z
  .string()
  .regex(/^\/[\x21-\x7e]*$/, 'must be a path that begins with /')
  .refine((text) => unknownPlaceholder(text) === undefined, 'names what an order does not have');
/** Members by name or, in lists, by number: `output.0.url`. */
const place = z
  .string()
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be like output.0.url: members by name or number');
const method = z.enum(['GET', 'POST', 'PUT', 'DELETE']);
const pattern = z.string().refine((text) => {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}, 'is no regular expression');

const places = z.union([place.transform((text) => [text]), z.array(place).min(1).max(8)], {
  error: 'must be like error.message, or a list of such',
});

const submit = z.strictObject({
  path: path.describe('where orders go, by POST; `{model}` is the model of the route'),
  encoding: z
    .enum(['json', 'multipart'])
    .default('json')
    .describe('of the body; with `multipart` each member is a field, and what is no text is written as JSON'),
  body: template.describe(
    'A text that is one placeholder becomes its value, a number where it is one, and is left out where the order has none; inside longer texts it is written as text',
  ),
  reference: place.default('id').describe('where the answer names the run'),
  error: places
    .optional()
    .describe(
      'where an answer of 200 that names no run, or has no result, says why; the first place with something counts',
    ),
  timeout_ms: z
    .int()
    .min(10)
    .max(3_600_000)
    .default(300_000)
    .describe('of the one long call, where there is no `poll`'),
});

const poll = z.strictObject({
  path: path.describe('`{reference}` is the run, `{model}` the model of the route'),
  body: template
    .optional()
    .describe(
      'sent with the question, as JSON by POST, where the service wants that; left out: by GET, without one',
    ),
  state: place.default('status').describe('where the answer says how the run is'),
  states: z
    .record(z.string(), z.enum(['queued', 'running', 'succeeded', 'failed', 'refused', 'canceled']))
    .describe(
      'what each of its words means (`""`: nothing stands there); any other is an answer that cannot be read. `refused`: failed for its content',
    ),
  progress: place.optional().describe('where it says how far the run is'),
  progress_max: z.number().positive().default(1).describe('what it says there at the end'),
  error: places
    .optional()
    .describe(
      'where it says why a run failed, or succeeded without a file; the first place with something counts',
    ),
});

/** An entry of `engines:` of kind `http`: any service that takes an order and answers with the result, or is asked how it is. */
export const httpSettings = z
  .strictObject({
    ...upstreamFields,
    kinds: kindsField.describe('what it can make'),
    size_multiple: sizeMultipleField
      .default(1)
      .describe('sizes are rounded up to it, and cropped afterwards'),
    seed_max: seedMaxField.default(2 ** 31 - 1).describe('larger seeds become their remainder'),
    paid: z
      .boolean()
      .default(true)
      .describe('whether each accepted order is billed: then one whose answer was lost is never sent again'),
    key_scheme: z
      .string()
      .max(40)
      .default('Bearer')
      .describe(
        'word before the key in `Authorization`; for another header leave `api_key` out and use `headers`',
      ),
    signature: signatureSettings
      .optional()
      .describe('how every call to `base_url` is signed; its members by kind are below'),
    idempotency_header: z
      .string()
      .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
      .optional()
      .describe("carries the task's id where the service answers a repeated order with the first one's run"),
    sizes: z
      .record(z.string().regex(/^\d{2,5}\*\d{2,5}$/, 'must be like 1280*720'), z.record(z.string(), z.json()))
      .optional()
      .describe(
        'by size of an order: what `{size.…}` stands for, e.g. `{ "1280*720": { aspect: "16:9" } }`; other sizes are refused',
      ),
    submit: submit.describe('the order'),
    poll: poll
      .optional()
      .describe('the question after a run; left out: the answer to the order is the result'),
    output: place
      .default('output')
      .describe(
        'where the last answer has the file: as `output_encoding` says, or a list whose first one is taken',
      ),
    output_encoding: z.enum(['url', 'base64']).default('url').describe('`base64`: the file is in the answer'),
    fetch: z
      .strictObject({
        path: path.describe('`{output}` is what stood at `output`, `{reference}` the run'),
        output: place.describe('where its answer names the file, by URL'),
      })
      .optional()
      .describe('one more question, by GET, where the last answer names a file by an id'),
    refused: z
      .strictObject({
        at: place.describe('where the last answer says it'),
        words: z.array(z.string().min(1)).min(1).max(20).describe('the words that mean it'),
      })
      .optional()
      .describe('how a service says that it has blacked out or blurred what it made, for its content'),
    cost: place.optional().describe('where the last answer of `poll` says what the run costs, in USD'),
    cancel: z
      .strictObject({ method: method.default('POST').describe('HTTP'), path: path.describe('as of `poll`') })
      .optional()
      .describe('asks it to stop a run; left out: runs cannot be stopped'),
    content_refused: pattern
      .default('content.?(policy|moderat)|nsfw|safety|moderation|sensitive')
      .describe(
        'regular expression of errors that mean that the content was refused; upper and lower case alike',
      ),
    misconfigured: pattern
      .default(
        '(insufficient|exceeded|not enough).{0,20}(balance|quota|credit)|invalid.{0,10}(api.?key|token)|billing',
      )
      .describe(
        'regular expression of errors that only the operator can mend, where the status does not say so',
      ),
  })
  .refine(
    ({ sizes, submit: { body, path: to } }) =>
      sizes !== undefined || !/\{size\./.test(JSON.stringify([body, to])),
    {
      path: ['sizes'],
      message: 'is needed for {size.…}',
    },
  )
  .refine(({ fetch, output_encoding }) => fetch === undefined || output_encoding === 'url', {
    path: ['fetch'],
    message: 'names files by URL: leave output_encoding out',
  })
  .refine(({ api_key, signature }) => api_key === '' || !makesAuthorization(signature), {
    path: ['api_key'],
    message: 'is made by signature; set one of them',
  })
  .refine(
    ({ headers, signature }) =>
      !makesAuthorization(signature) ||
      !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
    { path: ['headers', 'authorization'], message: 'is made by signature; set one of them' },
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

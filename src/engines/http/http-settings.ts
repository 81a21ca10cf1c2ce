import { z } from 'zod';
import { kindsField, seedMaxField, sizeMultipleField, upstreamFields } from '../engine-settings.ts';
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

const submit = z.strictObject({
  path: path.describe('where orders go, by POST; `{model}` is the model of the route'),
  body: template.describe(
    'JSON. A text that is one placeholder becomes its value, a number where it is one, and is left out where the order has none; inside longer texts it is written as text',
  ),
  reference: place.default('id').describe('where the answer names the run'),
});

const poll = z.strictObject({
  path: path.describe('`{reference}` is the run'),
  state: place.default('status').describe('where the answer says how the run is'),
  states: z
    .record(z.string(), z.enum(['queued', 'running', 'succeeded', 'failed', 'canceled']))
    .describe('what each of its words means; any other is an answer that cannot be read'),
  progress: place.optional().describe('where it says how far the run is'),
  progress_max: z.number().positive().default(1).describe('what it says there at the end'),
  error: place.optional().describe('where it says why a run failed'),
});

/** An entry of `engines:` of kind `http`: any service that takes an order, is asked how it is, and names files by URL. */
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
    poll: poll.describe('the question after a run'),
    output: place
      .default('output')
      .describe('where the last answer names the file: a URL, or a list whose first one is taken'),
    cancel: z
      .strictObject({ method: method.default('POST').describe('HTTP'), path: path.describe('as of `poll`') })
      .optional()
      .describe('asks it to stop a run; left out: runs cannot be stopped'),
    content_refused: pattern
      .default('content.?policy|nsfw|safety|moderation')
      .describe(
        'regular expression of errors that mean that the content was refused; upper and lower case alike',
      ),
  })
  .refine(
    ({ sizes, submit: { body, path: to } }) =>
      sizes !== undefined || !/\{size\./.test(JSON.stringify([body, to])),
    {
      path: ['sizes'],
      message: 'is needed for {size.…}',
    },
  );

export type HttpEngineSettings = z.output<typeof httpSettings>;

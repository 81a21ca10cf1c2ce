import { z } from 'zod';
import {
  extraField,
  kindsField,
  seedMaxField,
  sizeMultipleField,
  upstreamFields,
} from '../engine-settings.ts';

const SEED_MAX = 9_999_999_999;

/** An entry of `engines:` of kind `novita`: Novita's asynchronous API, or another Tollgate, which speaks it. */
export const novitaSettings = z.strictObject({
  ...upstreamFields,
  base_url: upstreamFields.base_url.default('https://api.novita.ai').describe('address of the service'),
  kinds: kindsField.describe('what it can generate'),
  // Never for an upstream that only looks similar: after a lost response we would POST a second time.
  dialect: z
    .enum(['novita', 'tollgate'])
    .default('novita')
    .describe(
      '`tollgate` only for another Tollgate, which supports Idempotency-Key, can cancel, and reports what a task was charged',
    ),
  size_multiple: sizeMultipleField
    .default(1)
    .describe('sizes are rounded up to a multiple of this many pixels, then cropped'),
  seed_max: seedMaxField
    .default(SEED_MAX)
    .describe('largest seed it accepts; larger seeds are reduced to their remainder'),
  seconds_field: z
    .string()
    .min(1)
    .max(64)
    .default('duration')
    .describe(
      'name of the member for the length of a video in seconds; always `seconds` in the dialect `tollgate`',
    ),
  extra: extraField.describe('members added to every request body unchanged'),
});

export type NovitaSettings = z.output<typeof novitaSettings>;

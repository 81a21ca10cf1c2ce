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
  base_url: upstreamFields.base_url.default('https://api.novita.ai').describe('of the service'),
  kinds: kindsField.describe('what it can make'),
  // never for an upstream that only looks alike: a lost answer would be asked for by a second POST
  dialect: z
    .enum(['novita', 'tollgate'])
    .default('novita')
    .describe(
      '`tollgate` only for another Tollgate: it honours Idempotency-Key, can cancel, and says what a task was charged',
    ),
  size_multiple: sizeMultipleField.default(1).describe('sizes are rounded up to it, and cropped afterwards'),
  seed_max: seedMaxField.default(SEED_MAX).describe('larger seeds become their remainder'),
  seconds_field: z
    .string()
    .min(1)
    .max(64)
    .default('duration')
    .describe('member for the length of a video; `seconds` in the dialect tollgate'),
  extra: extraField.describe('members added to every request body as they are'),
});

export type NovitaSettings = z.output<typeof novitaSettings>;

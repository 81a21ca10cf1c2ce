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
  base_url: upstreamFields.base_url.default('https://api.novita.ai'),
  kinds: kindsField,
  /**
   * `tollgate`: the upstream honours Idempotency-Key, can cancel, and says what a task was charged. Never set it for an upstream that
   * only looks alike: a lost answer would be asked for by a second POST.
   */
  dialect: z.enum(['novita', 'tollgate']).default('novita'),
  size_multiple: sizeMultipleField.default(1),
  seed_max: seedMaxField.default(SEED_MAX),
  /** Member for the length of a video; `seconds` in the dialect tollgate. */
  seconds_field: z.string().min(1).max(64).default('duration'),
  extra: extraField,
});

export type NovitaSettings = z.output<typeof novitaSettings>;

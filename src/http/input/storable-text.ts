import { z } from 'zod';

/** Text that the database can hold: well-formed Unicode without NUL. */
export const storableText = z
  .string()
  .refine((text) => !/[\0\p{Surrogate}]/u.test(text), 'must be well-formed Unicode without NUL');

import { z } from 'zod';

const URL_LENGTH_MAX = 2_048;

/** A URL that events can be posted to. Whether its address is public is checked when connecting. */
export const httpUrl = z
  .string()
  .max(URL_LENGTH_MAX)
  .refine(isHttpUrl, 'must be an http(s) URL without credentials');

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) {
    return false;
  }
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

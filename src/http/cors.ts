import cors from 'cors';
import type { RequestHandler } from 'express';

/** Headers of answers that scripts of another origin may read. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'x-should-retry',
  'X-Generation-Id',
  'X-Max-Tokens-Clamped',
  'X-Ignored-Parameters',
  'Idempotent-Replayed',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'Link',
  'Retry-After',
];

const PREFLIGHT_SECONDS = 600;

/**
 * Lets scripts of these origins call us (`*`: of any), with a key of their own and never with cookies. Preflights are only marked here:
 * the routes answer them, so that a path that does not exist stays a 404.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    credentials: false,
    maxAge: PREFLIGHT_SECONDS,
    preflightContinue: true,
  });
}

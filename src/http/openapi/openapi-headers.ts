import { z } from 'zod';
import { dropsUnknownMembers, IGNORED_ANSWER_HEADER } from '../input/ignored-members.ts';
import { ANTHROPIC_PREFIX, type Route } from '../route.ts';
import type { JsonSchema } from './openapi-portable.ts';

/** Returns the headers of a success that clients may want to read, by name, with their descriptions. */
export function answerHeaders(route: Route): JsonSchema {
  const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } });
  const isLimited = route.access === 'inference' || route.access === 'owner';
  return {
    'x-request-id': text('Id of this request: the one you sent, otherwise a new one'),
    ...(route.path.startsWith(ANTHROPIC_PREFIX) && { 'request-id': text('The same as x-request-id') }),
    ...(route.access === 'inference' &&
      route.idempotency === 'replay' && {
        'X-Generation-Id': text('Id of the generation that this call creates'),
      }),
    ...(route.idempotency === 'replay' && {
      'Idempotent-Replayed': text('true: this is the stored answer to an earlier request'),
    }),
    ...(route.body &&
      dropsUnknownMembers(route.body) &&
      Object.fromEntries(Object.entries(IGNORED_ANSWER_HEADER).map(([name, told]) => [name, text(told)]))),
    ...(isLimited && {
      'x-ratelimit-limit-requests': text('Requests per minute'),
      'x-ratelimit-remaining-requests': text('Requests left now'),
      'x-ratelimit-reset-requests': text('Time until the limit is fully restored, e.g. 1m30s'),
      'x-ratelimit-limit-tokens': text('Tokens per minute'),
      'x-ratelimit-remaining-tokens': text('Tokens left now'),
      'x-ratelimit-reset-tokens': text('Time until the limit is fully restored'),
    }),
    ...(route.query instanceof z.ZodObject &&
      'cursor' in route.query.shape && { Link: text('Address of the next page: <…>; rel="next"') }),
    ...Object.fromEntries(
      Object.entries(route.response.headers ?? {}).map(([name, description]) => [name, text(description)]),
    ),
  };
}

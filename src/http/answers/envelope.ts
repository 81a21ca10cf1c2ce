import type { AppError } from '../../lib/errors.ts';
import { FieldError } from '../input/field-error.ts';
import type { Route } from '../route.ts';
import { taskErrorReason } from './task-error-reasons.ts';

export type Envelope = Route['envelope'];

/** Paths below the first answer errors in Novita's form even where no route matches; those below the second are OpenAI's. */
const NOVITA_PREFIX = '/v3/';
const NOVITA_CHAT_PREFIX = '/v3/openai/';

/** The envelope of an error on a path that belongs to no route. */
export function envelopeOfPath(path: string): Envelope {
  return path.startsWith(NOVITA_PREFIX) && !path.startsWith(NOVITA_CHAT_PREFIX) ? 'task' : 'data';
}

/** The body of an error: ours everywhere, with the asynchronous API's own members beside it on its paths; `mark` ends its message. */
export function errorBody(error: AppError, requestId: string, envelope: Envelope, mark = ''): object {
  const ours = {
    error: { code: error.code, message: error.message + mark, type: error.type },
    request_id: requestId,
  };
  if (envelope !== 'task') {
    return ours;
  }
  const metadata = error instanceof FieldError ? { [error.field]: error.message } : {};
  return {
    code: error.status,
    reason: taskErrorReason(error.code),
    message: error.message,
    metadata,
    ...ours,
  };
}

/** The body of a success as it is sent. */
export function successBody(body: object, requestId: string, envelope: Envelope): object {
  return envelope === 'data' ? { ...body, request_id: requestId } : body;
}

import type { z } from 'zod';
import { MAX_COST_HEADER } from '../http/input/max-cost.ts';
import { FieldError } from '../http/input/validate.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import type { InvocationService } from './invocation.service.ts';
import { COUNT_ERRORS, INVOCATION_ANSWER_HEADERS, INVOCATION_ERRORS } from './invocation-description.ts';
import { countCallInput, type DialectRoute, type InvocationContext, invoke } from './invoke.ts';
import { messagesPresenter } from './messages.presenter.ts';
import { inputCount, messageAnswer, messageEvent, messagesRequest } from './messages.schema.ts';

const PATH = '/vendorx/v1/messages';
const VERSION_HEADER = 'vendorx-version';
const VERSION = '2023-06-01';
const VERSION_ANSWER_HEADER = { [VERSION_HEADER]: 'The version that the answer follows' };
const VERSION_HEADERS = { [VERSION_HEADER]: 'A date such as 2023-06-01; also known as anthropic-version' };

export interface MessagesRouteDependencies {
  readonly service: InvocationService;
  /** Maximum request body, in bytes. Images travel inside the body. */
  readonly bodyBytesMax: number;
}

/** Anthropic's messages endpoints. For their other paths and header names see http/aliases.ts. */
export function messagesRoutes({ service, bodyBytesMax }: MessagesRouteDependencies): Route[] {
  const route: Omit<DialectRoute, 'headers'> = {
    service,
    presenter: messagesPresenter,
    dialect: 'messages',
    endpoint: PATH,
    servedBy: ['messages'],
    ignored: [],
  };
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'createMessage',
      summary: 'Message completion, as JSON or as server-sent events',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: messagesRequest,
      bodyBytesMax,
      requestHeaders: { ...MAX_COST_HEADER, ...VERSION_HEADERS },
      response: {
        status: 200,
        schema: messageAnswer,
        stream: messageEvent,
        headers: { ...INVOCATION_ANSWER_HEADERS, ...VERSION_ANSWER_HEADER },
      },
      errors: INVOCATION_ERRORS,
      idempotency: 'replay',
      async handle(context) {
        const { body } = context;
        requireRoomToAnswer(body, context.headers['anthropic-beta']);
        return invoke(context, body, body.max_tokens ?? undefined, versioned(route, context.headers));
      },
    }),
    defineRoute({
      method: 'post',
      path: `${PATH}/count_tokens`,
      operationId: 'countMessageTokens',
      summary: 'Estimate the tokens that a message call would send; free',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: messagesRequest,
      bodyBytesMax,
      requestHeaders: VERSION_HEADERS,
      response: { status: 200, schema: inputCount, headers: VERSION_ANSWER_HEADER },
      errors: COUNT_ERRORS,
      idempotency: 'natural',
      asksOnly: true,
      async handle(context) {
        const { headers } = versioned(route, context.headers);
        const counted = await countCallInput(context, context.body, route);
        return counted === undefined ? undefined : { headers, body: { input_tokens: counted } };
      },
    }),
  ];
}

/** With this beta, a budget covers all thinking between the tool calls of a turn and may exceed the cap of one answer. */
const INTERLEAVED_THINKING = 'interleaved-thinking';

/**
 * Rejects a thinking budget that uses up the cap: thinking counts toward it, so no room for an answer is left. Anthropic returns 400,
 * too.
 */
function requireRoomToAnswer(
  { max_tokens: cap, thinking }: z.output<typeof messagesRequest>,
  betas: string | string[] | undefined,
): void {
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : undefined;
  if (budget && cap && budget >= cap && !String(betas).includes(INTERLEAVED_THINKING)) {
    throw new FieldError('thinking.budget_tokens', `must be below max_tokens, which is ${cap}`);
  }
}

function versioned(
  route: Omit<DialectRoute, 'headers'>,
  headers: InvocationContext['headers'],
): DialectRoute {
  return { headers: { [VERSION_HEADER]: effectiveVersion(headers[VERSION_HEADER]) }, ...route };
}

/** Returns the version in the response header. There is only one; any valid date is accepted. */
function effectiveVersion(header: string | string[] | undefined): string {
  if (typeof header === 'string' && header !== '' && !/^\d{4}-\d{2}-\d{2}$/.test(header)) {
    throw new AppError('invalid_parameter', `${VERSION_HEADER}: must be a date such as ${VERSION}`);
  }
  return VERSION;
}

import { MAX_COST_HEADER } from '../http/input/max-cost.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { chatPresenterFor } from './chat.presenter.ts';
import { chatRequest } from './chat.schema.ts';
import { chatChunk, chatCompletion } from './chat-answer.schema.ts';
import { functionsAsTools } from './dialects/legacy-functions.ts';
import type { InvocationService } from './invocation.service.ts';
import { INVOCATION_ANSWER_HEADERS, INVOCATION_ERRORS } from './invocation-description.ts';
import { invoke } from './invoke.ts';

const PATH = '/api/v1/chat/completions';

export interface ChatRouteDependencies {
  readonly service: InvocationService;
  /** Maximum request body, in bytes. Images travel inside the body. */
  readonly bodyBytesMax: number;
}

/** OpenAI's chat completions endpoint. */
export function chatRoutes({ service, bodyBytesMax }: ChatRouteDependencies): Route[] {
  const route = {
    service,
    dialect: 'chat',
    endpoint: PATH,
    servedBy: ['chat'],
    ignored: [],
    headers: {},
  } as const;
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'createChatCompletion',
      summary: 'Chat completion, as JSON or as server-sent events',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: chatRequest,
      bodyBytesMax,
      requestHeaders: MAX_COST_HEADER,
      response: {
        status: 200,
        schema: chatCompletion,
        stream: chatChunk,
        headers: INVOCATION_ANSWER_HEADERS,
      },
      errors: INVOCATION_ERRORS,
      idempotency: 'replay',
      async handle(context) {
        const body = await context.inTurn(functionsAsTools(context.body));
        const cap = body.max_completion_tokens ?? body.max_tokens ?? undefined;
        const presenter = chatPresenterFor(context.body);
        return invoke(context, body, cap, { presenter, ...route });
      },
    }),
  ];
}

import { MAX_COST_HEADER } from '../http/input/max-cost.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { merged } from '../lib/merged.ts';
import { inChatForm, readResponsesForm } from './borrowed-forms.ts';
import { chatPresenterFor } from './chat.presenter.ts';
import { chatRequest } from './chat.schema.ts';
import { chatChunk, chatCompletion } from './chat-answer.schema.ts';
import { functionsAsTools } from './dialects/legacy-functions.ts';
import type { InvocationService } from './invocation.service.ts';
import { INVOCATION_ANSWER_HEADERS, INVOCATION_ERRORS } from './invocation-description.ts';
import { invoke } from './invoke.ts';
import { type ResponsesBody, responsesRequest } from './responses/responses.schema.ts';
import { responsesRequestToChat } from './responses/responses-request-to-chat.ts';

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
    headers: {},
  } as const;
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'createChatCompletion',
      summary: 'Chat completion, as JSON or as server-sent events',
      description: `Cursor sends requests in the form of Responses here (\`input\` instead of \`messages\`), and tools and blocks in that
of Anthropic. They are accepted and answered as chat completions; calls of custom tools are calls of functions whose arguments are the text.`,
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
      otherForm: {
        read: readResponsesForm,
        schema: responsesRequest,
        async handle(context) {
          const body = context.body as ResponsesBody;
          const { chat, native, tools, ignored } = await context.inTurn(responsesRequestToChat(body));
          const { model, models, stream, stream_options } = body;
          const request = merged(chat, { model, models, stream, stream_options });
          const presenter = chatPresenterFor(request, tools);
          const cap = body.max_output_tokens ?? undefined;
          return invoke(context, request, cap, { presenter, native, ignored, ...route });
        },
      },
      async handle(context) {
        const { body: given, tools, ignored } = await context.inTurn(inChatForm(context.body));
        const body = await context.inTurn(functionsAsTools(given));
        const cap = body.max_completion_tokens ?? body.max_tokens ?? undefined;
        const presenter = chatPresenterFor(context.body, tools);
        return invoke(context, body, cap, { presenter, ignored, ...route });
      },
    }),
  ];
}

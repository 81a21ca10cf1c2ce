import { MAX_COST_HEADER } from '../../http/input/max-cost.ts';
import { defineRoute, type Reply, type Route } from '../../http/route.ts';
import { merged } from '../../lib/merged.ts';
import type { InvocationService } from '../invocation.service.ts';
import { COUNT_ERRORS, INVOCATION_ANSWER_HEADERS, INVOCATION_ERRORS } from '../invocation-description.ts';
import { countCallInput, type InvocationContext, invoke } from '../invoke.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { compactionOf, compactionPresenter } from './compaction.ts';
import { ResponsesPresenter } from './responses.presenter.ts';
import { type ResponsesBody, responsesRequest } from './responses.schema.ts';
import { type ResponsesSocketDependencies, responsesOverSocket } from './responses.socket.ts';
import {
  responsesAnswer,
  responsesCompaction,
  responsesEvent,
  responsesInputCount,
} from './responses-answer.schema.ts';
import { responsesRequestToChat } from './responses-request-to-chat.ts';

const PATH = '/api/v1/responses';

export interface ResponsesRouteDependencies extends ResponsesSocketDependencies {
  readonly service: InvocationService;
  /** Maximum request body, in bytes. Images travel inside the body. */
  readonly bodyBytesMax: number;
}

const ROUTE = {
  dialect: 'chat',
  endpoint: PATH,
  servedBy: ['chat', 'messages'],
  headers: {},
} as const;

/**
 * OpenAI's Responses for every text model, without storage. Passed through to providers that speak it, otherwise translated like chat
 * calls.
 */
export function responsesRoutes(dependencies: ResponsesRouteDependencies): Route[] {
  return [createRoute(dependencies), compactRoute(dependencies), countRoute(dependencies)];
}

function createRoute({ service, bodyBytesMax, ...socket }: ResponsesRouteDependencies): Route {
  return defineRoute({
    method: 'post',
    path: PATH,
    operationId: 'createResponse',
    summary: 'Response (OpenAI Responses, stateless), as JSON or as server-sent events',
    description: `Nothing is stored: send the whole conversation in \`input\` with every request. \`previous_response_id\`,
\`conversation\`, \`background\` and items referenced by id are rejected. The caller runs all tools (\`function\`, \`custom\`,
\`namespace\`); hosted tools are rejected, except \`web_search\`, which is left out and listed in X-Ignored-Parameters.
Reasoning items have \`encrypted_content\` when \`include\` requests it; send them back unchanged.
An input that ends with a \`compaction_trigger\` is answered with a \`compaction\` item: send it in place of the items before it.
A WebSocket at this path takes the same requests as \`response.create\` events.`,
    tag: 'Invocation',
    access: 'inference',
    envelope: 'bare',
    body: responsesRequest,
    bodyBytesMax,
    requestHeaders: MAX_COST_HEADER,
    response: {
      status: 200,
      schema: responsesAnswer,
      stream: responsesEvent,
      headers: INVOCATION_ANSWER_HEADERS,
    },
    errors: INVOCATION_ERRORS,
    idempotency: 'replay',
    overSocket: responsesOverSocket(socket),
    handle(context) {
      return respond(context, context.body, service, (presenter) => presenter);
    },
  });
}

/** Answers a request in the form that `presented` gives to a response. */
async function respond(
  context: InvocationContext,
  body: ResponsesBody,
  service: InvocationService,
  presented: (presenter: DialectPresenter) => DialectPresenter,
): Promise<Reply | undefined> {
  const translated = await context.inTurn(responsesRequestToChat(body));
  const { chat, native, ignored } = translated;
  const request = merged(chat, { model: body.model, models: body.models, stream: body.stream });
  const presenter = presented(new ResponsesPresenter(body, translated));
  const route = { service, presenter, ignored, native, ...ROUTE };
  return invoke(context, request, body.max_output_tokens ?? undefined, route);
}

function compactRoute({ service, bodyBytesMax }: ResponsesRouteDependencies): Route {
  return defineRoute({
    method: 'post',
    path: `${PATH}/compact`,
    operationId: 'compactResponse',
    summary: 'Replace a long conversation by a summary that the model writes',
    description: `Send the \`output\` as the \`input\` of the next response, with what follows. It is charged like a response.`,
    tag: 'Invocation',
    access: 'inference',
    envelope: 'bare',
    body: responsesRequest,
    bodyBytesMax,
    requestHeaders: MAX_COST_HEADER,
    response: { status: 200, schema: responsesCompaction, headers: INVOCATION_ANSWER_HEADERS },
    errors: INVOCATION_ERRORS,
    idempotency: 'replay',
    handle(context) {
      const { input } = context.body;
      const body = merged(context.body, { input: compactionOf(input), stream: false }) as ResponsesBody;
      return respond(context, body, service, (presenter) => compactionPresenter(presenter, input));
    },
  });
}

function countRoute({ service, bodyBytesMax }: ResponsesRouteDependencies): Route {
  return defineRoute({
    method: 'post',
    path: `${PATH}/input_tokens`,
    operationId: 'countResponseTokens',
    summary: 'Estimate the tokens that a response would send; free',
    tag: 'Invocation',
    access: 'inference',
    envelope: 'bare',
    body: responsesRequest,
    bodyBytesMax,
    response: { status: 200, schema: responsesInputCount },
    errors: COUNT_ERRORS,
    idempotency: 'natural',
    asksOnly: true,
    async handle(context) {
      const { body } = context;
      const { chat, native, ignored } = await context.inTurn(responsesRequestToChat(body));
      const request = merged(chat, { model: body.model });
      const counted = await countCallInput(context, request, { service, ignored, native, ...ROUTE });
      return counted === undefined
        ? undefined
        : { body: { object: 'response.input_tokens', input_tokens: counted } };
    },
  });
}

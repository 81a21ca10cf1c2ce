import { z } from 'zod';
import { MAX_COST_HEADER } from '../http/input/max-cost.ts';
import { validate } from '../http/input/validate.ts';
import { answerOf, CURRENCY, currencyJson, modelId, usdString } from '../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { LINE_ITEMS } from '../ledger/ledger.types.ts';
import { formatUsd, type NanoUsd } from '../lib/money.ts';
import type { CallEstimate } from './admission.ts';
import { chatRequest } from './chat.schema.ts';
import { functionsAsTools } from './dialects/legacy-functions.ts';
import type { InvocationService } from './invocation.service.ts';
import type { Invocation } from './invocation.types.ts';
import { COUNT_ERRORS } from './invocation-description.ts';
import { type InvocationContext, invocationOf } from './invoke.ts';
import { messagesRequest } from './messages.schema.ts';
import type { TypicalOutput } from './typical-output.read-model.ts';

/** Maximum request body, in bytes. Smaller than that of a call because nobody pays for the work. */
const BODY_BYTES_MAX = 1024 * 1024;

const estimateRequest = z
  .object({
    endpoint: z
      .enum(['/api/v1/chat/completions', '/vendorx/v1/messages'])
      .meta({ description: 'Where the request would be sent' }),
    request: z.looseObject({}).meta({ description: 'The body that would be sent there' }),
  })
  .meta({ id: 'EstimateCall' });

const estimateJson = z
  .object({
    model: modelId,
    input_tokens: z.int().min(0).meta({ description: 'Tokens of the prompt, by our own count' }),
    output_tokens_max: z.int().min(1).meta({
      description:
        'Tokens after which the answer would be cut off: limited by your request, the model and what you can pay for',
    }),
    max_amount: usdString.meta({
      description:
        'Amount that would be held, in USD: the most the call can cost. Send it as x-max-cost to make it a firm limit',
    }),
    lines: z
      .partialRecord(z.enum(LINE_ITEMS), usdString)
      .meta({ description: 'How much of it each line item may take; they add up to max_amount' }),
    expected_amount: usdString.nullable().meta({
      description:
        "Cost at today's prices if the answer has the median length of your last 100 answers from this model; null with fewer than five",
    }),
    affordable: z.boolean().meta({ description: 'false: the call would currently be rejected with 402' }),
    currency: currencyJson,
  })
  .meta({ id: 'Estimate' });

/** `/api/v1/estimates`: the price before sending, computed by the code that takes the hold. */
export function estimateRoutes(
  service: Pick<InvocationService, 'estimate'>,
  typical: Pick<TypicalOutput, 'tokens'>,
): Route[] {
  return [
    defineRoute({
      method: 'post',
      path: '/api/v1/estimates',
      operationId: 'estimateCall',
      summary: 'Maximum cost of a call; free, and nothing is held or sent to a provider',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'data',
      body: estimateRequest,
      bodyBytesMax: BODY_BYTES_MAX,
      requestHeaders: MAX_COST_HEADER,
      response: { status: 200, schema: answerOf(estimateJson, 'The maximum cost') },
      errors: [...COUNT_ERRORS, 'context_length_exceeded', 'max_cost_exceeded'],
      idempotency: 'natural',
      asksOnly: true,
      async handle(context) {
        const { endpoint, request } = context.body;
        const invocation = await estimated(context, endpoint, request);
        const estimate = await service.estimate(invocation);
        if (!estimate) {
          return undefined;
        }
        // counting is the most expensive work here, so it uses the same token limit as the calls themselves
        context.reportTokens(estimate.inputTokens);
        const tokens = await typical.tokens(context.principal.accountId, estimate.modelId);
        return { body: { data: presentEstimate(estimate, tokens) } };
      },
    }),
  ];
}

function presentEstimate(
  { modelId, inputTokens, outputTokensMax, amount, lines, isAffordable, costOf }: CallEstimate,
  typicalTokens: number | undefined,
): z.output<typeof estimateJson> {
  const expected =
    typicalTokens === undefined ? undefined : least(amount, costOf(Math.min(typicalTokens, outputTokensMax)));
  return {
    model: modelId,
    input_tokens: inputTokens,
    output_tokens_max: outputTokensMax,
    max_amount: formatUsd(amount),
    lines: Object.fromEntries(Object.entries(lines).map(([item, most]) => [item, formatUsd(most)])),
    expected_amount: expected === undefined ? null : formatUsd(expected),
    affordable: isAffordable,
    currency: CURRENCY,
  };
}

function least(one: NanoUsd, other: NanoUsd): NanoUsd {
  return one < other ? one : other;
}

async function estimated(
  context: InvocationContext,
  endpoint: z.output<typeof estimateRequest>['endpoint'],
  request: object,
): Promise<Invocation> {
  if (endpoint === '/vendorx/v1/messages') {
    const body = validate(messagesRequest, request, 'body');
    const route = { dialect: 'messages', endpoint, servedBy: ['messages'], ignored: [] } as const;
    return await invocationOf(context, body, body.max_tokens ?? undefined, route);
  }
  const body = await context.inTurn(functionsAsTools(validate(chatRequest, request, 'body')));
  const route = { dialect: 'chat', endpoint, servedBy: ['chat'], ignored: [] } as const;
  return await invocationOf(context, body, body.max_completion_tokens ?? body.max_tokens ?? undefined, route);
}

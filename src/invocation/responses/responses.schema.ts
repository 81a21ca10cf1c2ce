import { z } from 'zod';
import { usageJson } from '../../http/wire-shapes.ts';
import { fallbackModels } from '../chat.schema.ts';

const NOT_KEPT = 'responses are not kept here: send the earlier items in `input`';

const textPart = z
  .looseObject({ type: z.string(), text: z.string().optional() })
  .meta({ id: 'ResponsesPart' });
const parts = z.array(textPart);

const item = z
  .looseObject({
    type: z.string().nullish().meta({
      description:
        'message (also where it is left out), reasoning, function_call, function_call_output, custom_tool_call, custom_tool_call_output',
    }),
    role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
    content: z.union([z.string(), parts]).nullish(),
    call_id: z.string().optional(),
    name: z.string().optional(),
    arguments: z.string().optional().meta({ description: 'Of a function_call: JSON, as text' }),
    input: z.string().optional().meta({ description: 'Of a custom_tool_call' }),
    output: z.union([z.string(), parts]).optional(),
    encrypted_content: z
      .string()
      .nullish()
      .meta({ description: 'Of a reasoning item, as an earlier answer told it' }),
  })
  .superRefine((value, context) => {
    for (const name of REQUIRED[value.type ?? 'message'] ?? []) {
      if (value[name] === undefined || value[name] === null) {
        context.addIssue({ code: 'custom', path: [name], message: 'is required' });
      }
    }
  })
  .meta({ id: 'ResponsesInputItem' });

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  message: ['role', 'content'],
  function_call: ['call_id', 'name', 'arguments'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call: ['call_id', 'name', 'input'],
  custom_tool_call_output: ['call_id', 'output'],
};

const tool = z
  .looseObject({
    type: z.string().meta({ description: 'function, custom, or namespace with `tools` inside' }),
    name: z.string().min(1).max(128).optional(),
    description: z.string().nullish(),
  })
  .meta({ id: 'ResponsesTool' });

/** Body of a response: OpenAI's Responses, without what would need storage. */
export const responsesRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id of the model list' }),
    models: fallbackModels.nullish(),
    input: z.union([z.string(), z.array(item).min(1)]),
    instructions: z.string().nullish(),
    stream: z.boolean().nullish(),
    max_output_tokens: z.int().min(1).max(100_000_000).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    tools: z.array(tool).nullish(),
    tool_choice: z
      .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })])
      .nullish()
      .meta({ description: 'A word, or an object that names a tool or `allowed_tools`' }),
    parallel_tool_calls: z.boolean().nullish(),
    text: z
      .looseObject({
        format: z
          .looseObject({ type: z.enum(['text', 'json_object', 'json_schema']) })
          .nullish()
          .meta({ description: 'json_schema has `name`, `schema`, `strict` beside the type' }),
        verbosity: z.string().nullish(),
      })
      .nullish(),
    reasoning: z
      .looseObject({
        effort: z.string().nullish(),
        summary: z.string().nullish(),
        generate_summary: z.string().nullish(),
      })
      .nullish(),
    include: z
      .array(z.string())
      .nullish()
      .meta({ description: '`reasoning.encrypted_content` has reasoning told in the form to send back' }),
    store: z.boolean().nullish().meta({ description: 'Nothing is kept in either case' }),
    metadata: z.record(z.string(), z.string()).nullish().meta({ description: 'Told back with the answer' }),
    previous_response_id: z.null({ error: NOT_KEPT }).optional(),
    conversation: z.null({ error: NOT_KEPT }).optional(),
    prompt: z
      .null({ error: 'prompt templates are not kept here: send the text in `instructions` and `input`' })
      .optional(),
    background: z
      .literal(false, {
        error: 'responses are not made in the background here: use "stream": true for long ones',
      })
      .nullish(),
    prompt_cache_key: z.string().nullish(),
    safety_identifier: z.string().max(512).nullish(),
    user: z.string().max(512).nullish(),
  })
  .meta({ id: 'ResponsesRequest' });

export type ResponsesBody = z.output<typeof responsesRequest>;

const usage = usageJson
  .extend({
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }),
  })
  .meta({ id: 'ResponsesUsage' });

const outputItem = z
  .looseObject({
    type: z.string().meta({ examples: ['message', 'reasoning', 'function_call', 'custom_tool_call'] }),
    id: z.string(),
    status: z.string().optional(),
    role: z.string().optional(),
    content: z.array(textPart).optional(),
    call_id: z.string().optional(),
    name: z.string().optional(),
    arguments: z.string().optional(),
    input: z.string().optional(),
    summary: z.array(textPart).optional(),
    encrypted_content: z.string().nullish(),
  })
  .meta({ id: 'ResponsesOutputItem' });

/** A response, and what the last event of a stream holds. */
export const responsesAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.literal('response'),
    created_at: z.int().meta({ description: 'Unix seconds' }),
    status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
    model: z.string(),
    output: z.array(outputItem),
    incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
    error: z
      .looseObject({ code: z.string(), message: z.string() })
      .meta({ id: 'ResponsesFailure' })
      .nullable(),
    usage: usage.nullable(),
  })
  .meta({ id: 'Response' });

/** One event of a streamed response. */
export const responsesEvent = z
  .looseObject({
    type: z.string().meta({
      examples: [
        'response.created',
        'response.output_text.delta',
        'response.output_item.done',
        'response.completed',
      ],
    }),
    sequence_number: z.int().meta({ description: 'Counts the events from 0' }),
    output_index: z.int().optional(),
    item: outputItem.optional(),
    delta: z.string().optional(),
    response: responsesAnswer.optional(),
  })
  .meta({ id: 'ResponseStreamEvent' });

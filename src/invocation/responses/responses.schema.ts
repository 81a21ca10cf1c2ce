import { z } from 'zod';
import { fallbackModels } from '../chat.schema.ts';

const NOT_KEPT = 'responses are not stored here: send the earlier items in `input`';

export const textPart = z
  .looseObject({
    type: z.string().meta({ description: 'input_text, output_text, input_image, summary_text, …' }),
    text: z.string().optional().meta({ description: 'Text of a text part' }),
  })
  .meta({ id: 'ResponsesPart' });
const parts = z.array(textPart);

const item = z
  .looseObject({
    type: z.string().nullish().meta({
      description:
        'message (the default), reasoning, function_call, function_call_output, custom_tool_call, custom_tool_call_output, configuration_update, compaction, compaction_trigger',
    }),
    role: z
      .enum(['user', 'assistant', 'system', 'developer'])
      .optional()
      .meta({ description: 'Of a message: its author' }),
    content: z
      .union([z.string(), parts])
      .nullish()
      .meta({ description: 'Of a message: text, or parts of text and media' }),
    call_id: z
      .string()
      .optional()
      .meta({ description: 'Of a call and its output: the id that connects them' }),
    name: z.string().optional().meta({ description: 'Of a call: name of the tool' }),
    arguments: z.string().optional().meta({ description: 'Of a function_call: JSON, as text' }),
    input: z.string().optional().meta({ description: 'Of a custom_tool_call: its input, as text' }),
    output: z
      .union([z.string(), parts])
      .optional()
      .meta({ description: 'Of an output: the result of the tool' }),
    encrypted_content: z
      .string()
      .nullish()
      .meta({ description: 'Of a reasoning or compaction item: unchanged from an earlier answer' }),
    reasoning: z
      .looseObject({ effort: z.string().nullish().meta({ description: 'How hard to think from now on' }) })
      .optional()
      .meta({ description: 'Of a configuration_update: replaces the effort of the request' }),
    text: z
      .looseObject({
        format: z.looseObject({}).optional().meta({ description: 'As in `text` of the request' }),
      })
      .optional()
      .meta({ description: 'Of a configuration_update: replaces the format of the request' }),
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
    type: z.string().meta({ description: 'function, custom, or namespace, which contains `tools`' }),
    name: z.string().min(1).max(128).optional().meta({ description: 'Name by which the model calls it' }),
    description: z.string().nullish().meta({ description: 'What it does; the model reads this' }),
  })
  .meta({ id: 'ResponsesTool' });

/** Body of a Responses call: OpenAI's format, without the members that would need storage. */
export const responsesRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id from the model list' }),
    models: fallbackModels.nullish(),
    input: z
      .union([z.string(), z.array(item).min(1)])
      .meta({ description: 'A text, or the conversation so far, oldest first' }),
    instructions: z
      .string()
      .nullish()
      .meta({ description: 'System prompt: instructions that come before the conversation' }),
    stream: z.boolean().nullish().meta({ description: 'true: the answer comes as server-sent events' }),
    max_output_tokens: z.int().min(1).max(100_000_000).nullish().meta({
      description:
        'Cap on the tokens of the answer, reasoning included; default: what the model and the balance allow',
    }),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullish()
      .meta({ description: "Sampling temperature: higher is more random; by default the provider's own" }),
    top_p: z.number().min(0).max(1).nullish().meta({
      description:
        "Nucleus sampling: draw from the likeliest tokens up to this total probability; by default the provider's own",
    }),
    tools: z.array(tool).nullish().meta({ description: 'Tools that the model may call' }),
    tool_choice: z
      .union([
        z.enum(['auto', 'none', 'required']),
        z.looseObject({ type: z.string().meta({ description: 'Kind of tool, or allowed_tools' }) }),
      ])
      .nullish()
      .meta({ description: '"auto", "none", "required", or an object that names a tool or `allowed_tools`' }),
    parallel_tool_calls: z
      .boolean()
      .nullish()
      .meta({ description: 'false: at most one tool call in an answer' }),
    text: z
      .looseObject({
        format: z
          .looseObject({
            type: z
              .enum(['text', 'json_object', 'json_schema'])
              .meta({ description: 'json_schema: the answer matches the schema' }),
          })
          .nullish()
          .meta({ description: 'json_schema also has `name`, `schema` and `strict`' }),
        verbosity: z
          .string()
          .nullish()
          .meta({ description: 'low, medium or high; for models that support it' }),
      })
      .nullish()
      .meta({ description: 'Format of the answer' }),
    reasoning: z
      .looseObject({
        effort: z
          .string()
          .nullish()
          .meta({ description: 'How hard to think: minimal, low, medium, high, …' }),
        summary: z
          .string()
          .nullish()
          .meta({ description: 'Whether reasoning is summarized, and how: auto, concise, detailed' }),
        generate_summary: z.string().nullish().meta({ description: 'Older name of summary' }),
      })
      .nullish()
      .meta({ description: 'For models that reason' }),
    include: z
      .array(z.string())
      .nullish()
      .meta({ description: '`reasoning.encrypted_content` returns reasoning in the form to send back' }),
    store: z.boolean().nullish().meta({ description: 'Nothing is stored in either case' }),
    metadata: z.record(z.string(), z.string()).nullish().meta({ description: 'Returned with the answer' }),
    previous_response_id: z
      .null({ error: NOT_KEPT })
      .optional()
      .meta({ description: 'Not supported: send the earlier items in input' }),
    conversation: z
      .null({ error: NOT_KEPT })
      .optional()
      .meta({ description: 'Not supported: send the earlier items in input' }),
    prompt: z
      .null({ error: 'prompt templates are not stored here: send the text in `instructions` and `input`' })
      .optional()
      .meta({ description: 'Not supported: send the text in instructions and input' }),
    background: z
      .literal(false, {
        error: 'background responses are not supported here: use "stream": true for long ones',
      })
      .nullish()
      .meta({ description: 'Must be false' }),
    prompt_cache_key: z
      .string()
      .nullish()
      .meta({ description: 'Passed to the provider: prompts with the same key share its cache' }),
    safety_identifier: z
      .string()
      .max(512)
      .nullish()
      .meta({ description: 'Your id for the end user; passed to the provider' }),
    user: z.string().max(512).nullish().meta({ description: 'Older name of safety_identifier' }),
  })
  .meta({ id: 'ResponsesRequest' });

export type ResponsesBody = z.output<typeof responsesRequest>;

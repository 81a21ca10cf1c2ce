import { z } from 'zod';
import { usageJson } from '../http/wire-shapes.ts';

const MESSAGES_MAX = 2_000;
const TOOLS_MAX = 128;

const imageUrl = z.string().regex(/^(?:https:\/\/|data:image\/)/, 'must be an https: or data:image/ URL');

const contentPart = z
  .looseObject({
    type: z.string(),
    text: z.string().optional(),
    image_url: z.union([z.looseObject({ url: imageUrl }).meta({ id: 'ChatImageUrl' }), imageUrl]).optional(),
  })
  .refine((part) => part.type !== 'text' || part.text !== undefined, {
    path: ['text'],
    message: 'is required',
  })
  .refine((part) => part.type !== 'image_url' || part.image_url !== undefined, {
    path: ['image_url'],
    message: 'is required',
  })
  .meta({ id: 'ChatContentPart' });

const toolCall = z
  .looseObject({
    id: z.string(),
    type: z.string().optional(),
    function: z
      .looseObject({
        name: z.string(),
        arguments: z.string().meta({ description: 'JSON, as text' }),
      })
      .optional(),
  })
  .meta({ id: 'ChatRequestToolCall' });

const message = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']).default('user'),
    content: z.union([z.string(), z.array(contentPart)]).nullish(),
    name: z.string().nullish(),
    tool_call_id: z.string().nullish().meta({ description: 'Of a tool message: the call it answers' }),
    tool_calls: z.array(toolCall).max(TOOLS_MAX).nullish(),
  })
  .meta({ id: 'ChatRequestMessage' });

const tool = z
  .looseObject({
    type: z.string().default('function'),
    function: z
      .looseObject({
        name: z.string().min(1).max(128),
        description: z.string().nullish(),
        parameters: z.looseObject({}).nullish().meta({ description: 'A JSON schema' }),
        strict: z.boolean().nullish(),
      })
      .optional(),
  })
  .meta({ id: 'ChatTool' });

/** OpenRouter's: how many models one call may try. */
const FALLBACKS_MAX = 8;

export const fallbackModels = z.array(z.string().min(1).max(256)).max(FALLBACKS_MAX).meta({
  description:
    'Models to go on with, in this order, when `model` fails before its first byte or the prompt is too long for it. The dearest of them is held, the one that answers is charged and named in the answer',
});

const tokens = z.int().min(1).max(100_000_000);

/** Body of a chat completion. Members it does not know are handed on where the provider speaks the same dialect. */
export const chatRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id of the model list' }),
    models: fallbackModels.nullish(),
    messages: z.array(message).min(1).max(MESSAGES_MAX),
    stream: z.boolean().nullish(),
    max_tokens: tokens.nullish(),
    max_completion_tokens: tokens.nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    tools: z.array(tool).max(TOOLS_MAX).nullish(),
    tool_choice: z
      .union([z.string(), z.looseObject({ type: z.string() })])
      .nullish()
      .meta({ description: '"none", "auto", "required", the name of a tool, or an object that names one' }),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: z.looseObject({ type: z.string() }).nullish(),
    stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
    n: z.literal(1, { error: 'only one answer per call is offered' }).nullish(),
    seed: z.int().nullish(),
    user: z.string().max(512).nullish(),
  })
  .meta({ id: 'ChatRequest' });

const chatUsage = usageJson
  .extend({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
    cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }),
  })
  .meta({ id: 'ChatUsage' });

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'error']);

const answeredCall = z
  .looseObject({
    id: z.string(),
    type: z.literal('function'),
    function: z.looseObject({
      name: z.string(),
      arguments: z.string().meta({ description: 'JSON, as text' }),
    }),
  })
  .meta({ id: 'ChatToolCall' });

const answeredMessage = z
  .looseObject({
    role: z.string(),
    content: z.string().nullable(),
    tool_calls: z.array(answeredCall).optional(),
    reasoning_content: z.string().nullish(),
  })
  .meta({ id: 'ChatMessage' });

const choice = z
  .looseObject({ index: z.int(), message: answeredMessage, finish_reason: finishReason })
  .meta({ id: 'ChatChoice' });

const delta = z
  .looseObject({
    role: z.string().optional(),
    content: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: z
      .array(
        z
          .looseObject({
            index: z.int(),
            id: z.string().optional(),
            function: z
              .looseObject({ name: z.string().optional(), arguments: z.string().optional() })
              .optional(),
          })
          .meta({ id: 'ChatToolCallDelta' }),
      )
      .optional(),
  })
  .meta({ id: 'ChatDelta' });

/** One event of a streamed chat completion; the last one is the text `[DONE]`. */
export const chatChunk = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z
        .looseObject({ index: z.int(), delta, finish_reason: finishReason.nullable() })
        .meta({ id: 'ChatChunkChoice' }),
    ),
    usage: chatUsage.nullish(),
  })
  .meta({ id: 'ChatCompletionChunk' });

/** A chat completion, and what a stream's chunks add up to. */
export const chatCompletion = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.string(),
    created: z.int().meta({ description: 'Unix seconds' }),
    model: z.string(),
    choices: z.array(choice),
    usage: chatUsage,
  })
  .meta({ id: 'ChatCompletion' });

import { z } from 'zod';
import { modelId, usageJson } from '../http/wire-shapes.ts';

const MESSAGES_MAX = 2_000;
const TOOLS_MAX = 128;

const imageUrl = z.string().regex(/^(?:https:\/\/|data:image\/)/, 'must be an https: or data:image/ URL');

const contentPart = z
  .looseObject({
    type: z.string().meta({
      description: 'text, image_url, or another kind that the model takes: input_audio, file, video_url',
    }),
    text: z.string().optional().meta({ description: 'The text, of a text part' }),
    image_url: z
      .union([
        z
          .looseObject({
            url: imageUrl.meta({
              description: 'An https: URL that the provider fetches, or a data:image/ URL',
            }),
          })
          .meta({ id: 'ChatImageUrl' }),
        imageUrl,
      ])
      .optional()
      .meta({ description: 'Of an image_url part' }),
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
    id: z.string().meta({ description: 'Id of the call, for the tool message that answers it' }),
    type: z.string().optional().meta({ description: 'function' }),
    function: z
      .looseObject({
        name: z.string().meta({ description: 'Name of the tool' }),
        arguments: z.string().meta({ description: 'JSON, as text' }),
      })
      .optional()
      .meta({ description: 'What the model called' }),
  })
  .meta({ id: 'ChatRequestToolCall' });

const message = z
  .looseObject({
    role: z
      .enum(['system', 'developer', 'user', 'assistant', 'tool'])
      .default('user')
      .meta({ description: 'Who speaks' }),
    content: z
      .union([z.string(), z.array(contentPart)])
      .nullish()
      .meta({ description: 'Text, or parts of text and media; null beside tool calls' }),
    name: z
      .string()
      .nullish()
      .meta({ description: 'Name of the speaker, to tell apart several of one role' }),
    tool_call_id: z.string().nullish().meta({ description: 'Of a tool message: the call it answers' }),
    tool_calls: z
      .array(toolCall)
      .max(TOOLS_MAX)
      .nullish()
      .meta({ description: 'Of an assistant message: what the model called' }),
  })
  .meta({ id: 'ChatRequestMessage' });

const tool = z
  .looseObject({
    type: z
      .string()
      .default('function')
      .meta({ description: 'function; other kinds reach only providers that know them' }),
    function: z
      .looseObject({
        name: z.string().min(1).max(128).meta({ description: 'What the model calls it by' }),
        description: z.string().nullish().meta({ description: 'What it does, for the model' }),
        parameters: z.looseObject({}).nullish().meta({ description: 'A JSON schema' }),
        strict: z.boolean().nullish().meta({ description: 'Arguments have to fit the schema exactly' }),
      })
      .optional()
      .meta({ description: 'Tools that the model may call' }),
  })
  .meta({ id: 'ChatTool' });

/** OpenRouter's: how many models one call may try. */
const FALLBACKS_MAX = 8;

export const fallbackModels = z.array(z.string().min(1).max(256)).max(FALLBACKS_MAX).meta({
  description:
    'Models to fall back to, in this order, when `model` fails before its first byte or the prompt is too long for it. The most expensive one is held, the one that answers is charged and named in the answer',
});

const tokens = z.int().min(1).max(100_000_000);

/** Body of a chat completion. Members it does not know are handed on where the provider speaks the same dialect. */
export const chatRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id of the model list' }),
    models: fallbackModels.nullish(),
    messages: z
      .array(message)
      .min(1)
      .max(MESSAGES_MAX)
      .meta({ description: 'The conversation so far, oldest first' }),
    stream: z.boolean().nullish().meta({ description: 'true: the answer comes as server-sent events' }),
    max_tokens: tokens.nullish().meta({
      description:
        'Cap on the tokens of the answer, reasoning included; default: what the model and the balance allow',
    }),
    max_completion_tokens: tokens.nullish().meta({ description: 'The same as max_tokens' }),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullish()
      .meta({ description: "Sampling temperature: higher is more random; by default the provider's own" }),
    top_p: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .meta({
        description:
          "Nucleus sampling: draw from the likeliest tokens up to this total probability; by default the provider's own",
      }),
    tools: z.array(tool).max(TOOLS_MAX).nullish().meta({ description: 'Tools that the model may call' }),
    tool_choice: z
      .union([z.string(), z.looseObject({ type: z.string().meta({ description: 'function' }) })])
      .nullish()
      .meta({ description: '"none", "auto", "required", the name of a tool, or an object that names one' }),
    parallel_tool_calls: z
      .boolean()
      .nullish()
      .meta({ description: 'false: at most one tool call in an answer' }),
    response_format: z
      .looseObject({ type: z.string().meta({ description: 'text, json_object or json_schema' }) })
      .nullish()
      .meta({ description: 'Format of the answer; by default text' }),
    stop: z
      .union([z.string(), z.array(z.string()).max(16)])
      .nullish()
      .meta({ description: 'The answer ends before any of these' }),
    n: z
      .literal(1, { error: 'only one answer per call is offered' })
      .nullish()
      .meta({ description: 'Answers per call: 1' }),
    seed: z
      .int()
      .nullish()
      .meta({ description: 'Makes a repeated answer likelier where the provider supports it' }),
    user: z
      .string()
      .max(512)
      .nullish()
      .meta({ description: 'Your id of the end user; passed to the provider' }),
  })
  .meta({ id: 'ChatRequest' });

const chatUsage = usageJson
  .extend({
    prompt_tokens: z.int().meta({ description: 'The same as input_tokens' }),
    completion_tokens: z.int().meta({ description: 'The same as output_tokens' }),
    prompt_tokens_details: z
      .object({ cached_tokens: z.int().meta({ description: 'The same as cache_read_tokens' }) })
      .meta({ description: 'Parts of prompt_tokens' }),
    completion_tokens_details: z
      .object({ reasoning_tokens: z.int().meta({ description: 'The same as reasoning_tokens of usage' }) })
      .meta({ description: 'Parts of completion_tokens' }),
    cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }),
  })
  .meta({ id: 'ChatUsage' });

const finishReason = z
  .enum(['stop', 'length', 'tool_calls', 'content_filter', 'error'])
  .meta({ description: 'Why the answer ended; length: at its cap' });

const answeredCall = z
  .looseObject({
    id: z.string().meta({ description: 'Id of the call, for the tool message that answers it' }),
    type: z.literal('function').meta({ description: 'Always function' }),
    function: z
      .looseObject({
        name: z.string().meta({ description: 'Name of the tool' }),
        arguments: z.string().meta({ description: 'JSON, as text' }),
      })
      .meta({ description: 'What the model called' }),
  })
  .meta({ id: 'ChatToolCall' });

const answeredMessage = z
  .looseObject({
    role: z.string().meta({ description: 'assistant' }),
    content: z.string().nullable().meta({ description: 'Text of the answer; null when it only calls tools' }),
    tool_calls: z
      .array(answeredCall)
      .optional()
      .meta({ description: 'What the model called; absent when nothing' }),
    reasoning_content: z
      .string()
      .nullish()
      .meta({ description: "The model's reasoning, where the provider sends it" }),
  })
  .meta({ id: 'ChatMessage' });

const choice = z
  .looseObject({
    index: z.int().meta({ description: 'Always 0' }),
    message: answeredMessage.meta({ description: 'The answer' }),
    finish_reason: finishReason,
  })
  .meta({ id: 'ChatChoice' });

const delta = z
  .looseObject({
    role: z.string().optional().meta({ description: 'assistant, in the first event' }),
    content: z.string().nullish().meta({ description: 'The next piece of the text' }),
    reasoning_content: z.string().nullish().meta({ description: 'The next piece of the reasoning' }),
    tool_calls: z
      .array(
        z
          .looseObject({
            index: z.int().meta({ description: 'Which call, from 0' }),
            id: z
              .string()
              .optional()
              .meta({
                description:
                  'Id of the call, for the tool message that answers it; in the first event of the call',
              }),
            function: z
              .looseObject({
                name: z.string().optional().meta({ description: 'Name of the tool; in the first event' }),
                arguments: z.string().optional().meta({ description: 'The next piece of the arguments' }),
              })
              .optional()
              .meta({ description: 'What the model calls' }),
          })
          .meta({ id: 'ChatToolCallDelta' }),
      )
      .optional()
      .meta({ description: 'The next pieces of tool calls' }),
  })
  .meta({ id: 'ChatDelta' });

/** One event of a streamed chat completion; the last one is the text `[DONE]`. */
export const chatChunk = z
  .looseObject({
    id: z.string().meta({ description: 'Id of the generation, gen-…' }),
    object: z.literal('chat.completion.chunk').meta({ description: 'Always chat.completion.chunk' }),
    created: z.int().meta({ description: 'Unix seconds' }),
    model: modelId,
    choices: z
      .array(
        z
          .looseObject({
            index: z.int().meta({ description: 'Always 0' }),
            delta: delta.meta({ description: 'The next piece of the answer' }),
            finish_reason: finishReason
              .nullable()
              .meta({ description: 'Why the answer ended; null until the last event of it' }),
          })
          .meta({ id: 'ChatChunkChoice' }),
      )
      .meta({ description: 'One, or none in the event that brings usage alone' }),
    usage: chatUsage
      .nullish()
      .meta({ description: 'In the last event, or in one of its own with stream_options.include_usage' }),
  })
  .meta({ id: 'ChatCompletionChunk' });

/** A chat completion, and what a stream's chunks add up to. */
export const chatCompletion = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.string().meta({ description: 'chat.completion' }),
    created: z.int().meta({ description: 'Unix seconds' }),
    model: modelId.meta({ description: 'Public id of the model that answered' }),
    choices: z.array(choice).meta({ description: 'One' }),
    usage: chatUsage.meta({ description: 'Tokens and what they cost' }),
  })
  .meta({ id: 'ChatCompletion' });

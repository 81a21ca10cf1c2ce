import { z } from 'zod';
import { modelId, usageJson } from '../http/input/wire-shapes.ts';

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
    cost: z.number().meta({ description: 'In USD, as a number; charged_amount of the generation is exact' }),
  })
  .meta({ id: 'ChatUsage' });

const finishReason = z
  .enum(['stop', 'length', 'tool_calls', 'function_call', 'content_filter', 'error'])
  .meta({ description: 'Why the answer ended; length means that it reached its cap' });

const answeredCall = z
  .looseObject({
    id: z.string().meta({ description: 'Id of the call, for the tool message that answers it' }),
    type: z.literal('function').meta({ description: 'Always function' }),
    function: z
      .looseObject({
        name: z.string().meta({ description: 'Name of the tool' }),
        arguments: z.string().meta({ description: 'JSON, as text' }),
      })
      .meta({ description: 'The function that the model called' }),
  })
  .meta({ id: 'ChatToolCall' });

const answeredMessage = z
  .looseObject({
    role: z.string().meta({ description: 'assistant' }),
    content: z.string().nullable().meta({ description: 'Text of the answer; null when it only calls tools' }),
    tool_calls: z
      .array(answeredCall)
      .optional()
      .meta({ description: 'Tool calls of the model; absent when there are none' }),
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
            index: z.int().meta({ description: 'Index of the call, from 0' }),
            id: z.string().optional().meta({
              description:
                'Id of the call, for the tool message that answers it; in the first event of the call',
            }),
            function: z
              .looseObject({
                name: z.string().optional().meta({ description: 'Name of the tool; in the first event' }),
                arguments: z.string().optional().meta({ description: 'The next piece of the arguments' }),
              })
              .optional()
              .meta({ description: 'The function that the model calls' }),
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
              .meta({ description: 'Why the answer ended; null until its last event' }),
          })
          .meta({ id: 'ChatChunkChoice' }),
      )
      .meta({ description: 'One choice; none in the event that carries only usage' }),
    usage: chatUsage
      .nullish()
      .meta({ description: 'In the last event, or in a separate one with stream_options.include_usage' }),
  })
  .meta({ id: 'ChatCompletionChunk' });

/** A chat completion: the whole answer, or what the chunks of a stream add up to. */
export const chatCompletion = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.string().meta({ description: 'chat.completion' }),
    created: z.int().meta({ description: 'Unix seconds' }),
    model: modelId.meta({ description: 'Public id of the model that answered' }),
    choices: z.array(choice).meta({ description: 'Always one choice' }),
    usage: chatUsage.meta({ description: 'Tokens and their cost' }),
  })
  .meta({ id: 'ChatCompletion' });

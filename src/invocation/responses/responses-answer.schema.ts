import { z } from 'zod';
import { modelId, usageJson } from '../../http/input/wire-shapes.ts';
import { textPart } from './responses.schema.ts';

const usage = usageJson
  .extend({
    input_tokens_details: z
      .object({ cached_tokens: z.int().meta({ description: 'The same as cache_read_tokens' }) })
      .meta({ description: 'Parts of input_tokens' }),
    output_tokens_details: z
      .object({ reasoning_tokens: z.int().meta({ description: 'The same as reasoning_tokens of usage' }) })
      .meta({ description: 'Parts of output_tokens' }),
    cost: z.number().meta({ description: 'In USD, as a number; charged_amount of the generation is exact' }),
  })
  .meta({ id: 'ResponsesUsage' });

const outputItem = z
  .looseObject({
    type: z.string().meta({
      description: 'Kind of item',
      examples: ['message', 'reasoning', 'function_call', 'custom_tool_call', 'compaction'],
    }),
    id: z.string().meta({ description: 'Id of the item within the answer' }),
    status: z.string().optional().meta({ description: 'in_progress, completed or incomplete' }),
    role: z.string().optional().meta({ description: 'Of a message: assistant' }),
    content: z.array(textPart).optional().meta({ description: 'Of a message: its parts' }),
    call_id: z.string().optional().meta({ description: 'Of a call: the id to send back with its output' }),
    name: z.string().optional().meta({ description: 'Of a call: name of the tool' }),
    arguments: z.string().optional().meta({ description: 'Of a function_call: JSON, as text' }),
    input: z.string().optional().meta({ description: 'Of a custom_tool_call: its input, as text' }),
    summary: z.array(textPart).optional().meta({ description: 'Of reasoning: its summary' }),
    encrypted_content: z.string().nullish().meta({
      description: 'Of reasoning: send it back unchanged; null or absent unless include requests it',
    }),
  })
  .meta({ id: 'ResponsesOutputItem' });

/** A response: the whole answer, also contained in the last event of a stream. */
export const responsesAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.literal('response').meta({ description: 'Always response' }),
    created_at: z.int().meta({ description: 'Unix seconds' }),
    completed_at: z
      .int()
      .nullable()
      .meta({ description: 'Unix seconds; null unless the response is completed' }),
    status: z
      .enum(['in_progress', 'completed', 'incomplete', 'failed'])
      .meta({ description: 'completed, incomplete and failed are final' }),
    model: modelId.meta({ description: 'Public id of the model that answered' }),
    output: z.array(outputItem).meta({ description: 'The answer' }),
    incomplete_details: z
      .looseObject({
        reason: z.string().meta({ description: 'max_output_tokens or content_filter' }),
      })
      .nullable()
      .meta({ description: 'Why the response is incomplete; otherwise null' }),
    error: z
      .looseObject({
        code: z.string().meta({ description: 'Stable, for programs; listed in docs/reference/errors.md' }),
        message: z.string().meta({ description: 'For people; may change' }),
      })
      .meta({ id: 'ResponsesFailure' })
      .nullable()
      .meta({ description: 'Why the response failed; otherwise null' }),
    usage: usage.nullable().meta({ description: 'Tokens and their cost; null until the response ends' }),
  })
  .meta({ id: 'Response' });

/** A conversation of which a summary stands for all but the user's messages. */
export const responsesCompaction = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    object: z.literal('response.compaction').meta({ description: 'Always response.compaction' }),
    created_at: z.int().meta({ description: 'Unix seconds' }),
    output: z
      .array(outputItem)
      .meta({ description: "The user's messages, then a compaction item: the next `input`" }),
    usage: usage.meta({ description: 'Tokens and their cost' }),
  })
  .meta({ id: 'ResponseCompaction' });

/** Number of tokens that a response would send. */
export const responsesInputCount = z
  .object({
    object: z.literal('response.input_tokens').meta({ description: 'Always response.input_tokens' }),
    input_tokens: z.int().min(0).meta({ description: 'Tokens of the input, estimated' }),
  })
  .meta({ id: 'ResponseTokenCount' });

/** One event of a streamed response. */
export const responsesEvent = z
  .looseObject({
    type: z
      .string()
      .meta({
        examples: [
          'response.created',
          'response.output_text.delta',
          'response.output_item.done',
          'response.completed',
        ],
      })
      .meta({ description: 'Kind of event' }),
    sequence_number: z.int().meta({ description: 'Counts the events from 0' }),
    output_index: z
      .int()
      .optional()
      .meta({ description: 'Index of the output item that the event is about, from 0' }),
    item: outputItem.optional().meta({ description: 'Of events about a whole item: the item' }),
    delta: z.string().optional().meta({ description: 'Of delta events: the next piece' }),
    response: responsesAnswer
      .optional()
      .meta({ description: 'Of events about the whole answer: the answer so far' }),
  })
  .meta({ id: 'ResponseStreamEvent' });

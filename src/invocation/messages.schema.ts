import { z } from 'zod';
import { usageJson } from '../http/wire-shapes.ts';

const MESSAGES_MAX = 2_000;
const TOOLS_MAX = 128;

const source = z
  .looseObject({
    type: z.string(),
    media_type: z.string().optional(),
    data: z.string().optional(),
    url: z
      .string()
      .regex(/^https:\/\//, 'must be an https: URL')
      .optional(),
  })
  .refine(
    (value) => value.type !== 'base64' || (value.data !== undefined && value.media_type !== undefined),
    {
      message: 'a base64 source has media_type and data',
    },
  )
  .meta({ id: 'MessageSource' });

const block = z
  .looseObject({
    type: z.string(),
    text: z.string().optional(),
    source: source.optional(),
    tool_use_id: z.string().optional(),
  })
  .refine((value) => value.type !== 'text' || value.text !== undefined, {
    path: ['text'],
    message: 'is required',
  })
  .refine((value) => value.type !== 'image' || value.source !== undefined, {
    path: ['source'],
    message: 'is required',
  })
  .refine((value) => value.type !== 'tool_result' || value.tool_use_id !== undefined, {
    path: ['tool_use_id'],
    message: 'is required',
  })
  .meta({ id: 'MessageRequestBlock' });

const message = z
  .looseObject({
    role: z.enum(['user', 'assistant', 'system', 'developer']).default('user'),
    content: z.union([z.string(), z.array(block)]),
  })
  .meta({ id: 'MessageRequestMessage' });

const tool = z
  .looseObject({
    name: z.string().min(1).max(128),
    type: z.string().nullish(),
    description: z.string().nullish(),
    input_schema: z.looseObject({}).optional().meta({ description: 'A JSON schema' }),
  })
  .meta({ id: 'MessageTool' });

/** Body of a message call. Members it does not know are handed on where the provider speaks the same dialect. */
export const messagesRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id of the model list' }),
    messages: z.array(message).min(1).max(MESSAGES_MAX),
    max_tokens: z.int().min(1).max(100_000_000).nullish(),
    stream: z.boolean().nullish(),
    system: z.union([z.string(), z.array(block)]).nullish(),
    stop_sequences: z.array(z.string()).max(64).nullish(),
    temperature: z.number().min(0).max(1).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_k: z.int().min(0).nullish(),
    tools: z.array(tool).max(TOOLS_MAX).nullish(),
    tool_choice: z
      .union([z.string(), z.looseObject({ type: z.string() })])
      .nullish()
      .meta({ description: '"auto", "any", "none", the name of a tool, or an object that names one' }),
    thinking: z.looseObject({ type: z.string(), budget_tokens: z.int().min(1).optional() }).nullish(),
    metadata: z.looseObject({ user_id: z.string().max(512).nullish() }).nullish(),
  })
  .meta({ id: 'MessagesRequest' });

const messagesUsage = usageJson
  .extend({
    cache_read_input_tokens: z.int(),
    cache_creation_input_tokens: z.int(),
    cost: z.number().meta({ description: 'USD; exact as charged_amount of the generation' }),
  })
  .meta({ id: 'MessagesUsage', description: 'input_tokens is the uncached part, total_tokens the whole' });

const answeredBlock = z
  .looseObject({
    type: z.string().meta({ examples: ['text', 'tool_use', 'thinking'] }),
    text: z.string().optional(),
    id: z.string().optional().meta({ description: 'Of a tool_use' }),
    name: z.string().optional().meta({ description: 'Of a tool_use' }),
    input: z.record(z.string(), z.unknown()).optional().meta({ description: 'Of a tool_use' }),
    thinking: z.string().optional(),
    signature: z.string().optional(),
  })
  .meta({ id: 'MessageBlock' });

/** How many tokens a message call would send. */
export const inputCount = z.object({ input_tokens: z.int().min(0) }).meta({ id: 'MessageTokenCount' });

/** One event of a streamed message. */
export const messageEvent = z
  .looseObject({
    type: z.enum([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'ping',
      'error',
    ]),
    index: z.int().optional(),
    content_block: answeredBlock.optional(),
    delta: z.looseObject({}).optional(),
    usage: messagesUsage.partial().optional(),
  })
  .meta({ id: 'MessageStreamEvent' });

/** A message, and what a stream's events add up to. */
export const messageAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    type: z.literal('message'),
    role: z.literal('assistant'),
    content: z.array(answeredBlock),
    model: z.string(),
    stop_reason: z.string(),
    stop_sequence: z.string().nullable(),
    usage: messagesUsage,
  })
  .meta({ id: 'Message' });

import { z } from 'zod';
import { modelId, usageJson } from '../http/input/wire-shapes.ts';
import { effortOfTurn } from './dialects/turn-efforts.ts';

const source = z
  .looseObject({
    type: z.string().meta({ description: 'base64 or url' }),
    media_type: z
      .string()
      .optional()
      .meta({ description: 'Of a base64 source: its MIME type, e.g. image/png' }),
    data: z.string().optional().meta({ description: 'Of a base64 source: the file' }),
    url: z
      .string()
      // input-links.ts decides for all media whether http: is allowed, and for which hosts
      .regex(/^https?:\/\//, 'must be an https: URL')
      .optional()
      .meta({
        description: 'Of a url source: the address on a public host where the provider fetches the file',
      }),
  })
  .refine(
    (value) => value.type !== 'base64' || (value.data !== undefined && value.media_type !== undefined),
    {
      message: 'a base64 source needs media_type and data',
    },
  )
  .meta({ id: 'MessageSource' });

const block = z
  .looseObject({
    type: z.string().meta({
      description:
        'text, image, document, tool_use, tool_result, thinking, or another kind that the model accepts',
    }),
    text: z.string().optional().meta({ description: 'Text of a text block' }),
    source: z.union([source, z.string()]).optional().meta({
      description: 'Of an image or document block: its file; of a search_result block: where it was found',
    }),
    tool_use_id: z
      .string()
      .optional()
      .meta({ description: 'Of a tool_result block: the tool_use it answers' }),
  })
  .refine((value) => value.type !== 'text' || value.text !== undefined, {
    path: ['text'],
    message: 'is required',
  })
  .refine((value) => value.type !== 'image' || value.source !== undefined, {
    path: ['source'],
    message: 'is required',
  })
  .refine((value) => typeof value.source !== 'string' || value.type === 'search_result', {
    path: ['source'],
    message: 'must be an object',
  })
  .refine((value) => value.type !== 'tool_result' || value.tool_use_id !== undefined, {
    path: ['tool_use_id'],
    message: 'is required',
  })
  .meta({ id: 'MessageRequestBlock' });

const message = z
  .looseObject({
    role: z
      .enum(['user', 'assistant', 'system', 'developer'])
      .default('user')
      .meta({ description: 'Author of the message' }),
    content: z
      .union([z.string(), z.array(block)])
      .optional()
      .meta({
        description:
          'Text, or blocks of text, media and tool results; required, except in a system turn with output_config',
      }),
    output_config: z
      .looseObject({
        effort: z.string().nullish().meta({ description: 'low, medium, high, xhigh or max' }),
      })
      .nullish()
      .meta({ description: 'Of a system turn: replaces the effort of the request from there on' }),
  })
  .refine((turn) => turn.content !== undefined || effortOfTurn(turn) !== undefined, {
    path: ['content'],
    message: 'is required',
  })
  .meta({ id: 'MessageRequestMessage' });

/** Types of entries that stand for several tools: `computer_toolset_20260801`, `mcp_toolset`. */
const TOOLSET = /_toolset(?:_|$)/;

const tool = z
  .looseObject({
    name: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ description: 'Name by which the model calls it; required, except for a toolset' }),
    type: z.string().nullish().meta({ description: 'Omit it, or use custom, for a tool of your own' }),
    description: z.string().nullish().meta({ description: 'What it does; the model reads this' }),
    input_schema: z.looseObject({}).optional().meta({ description: 'A JSON schema' }),
  })
  // an entry for several tools has no name, and whether it is served depends on its type
  .refine((value) => value.name !== undefined || TOOLSET.test(value.type ?? ''), {
    path: ['name'],
    message: 'is required',
  })
  .meta({ id: 'MessageTool' });

/** Body of a message call. request-policy.ts decides which members not listed here may reach a provider. */
export const messagesRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id from the model list' }),
    messages: z.array(message).min(1).meta({ description: 'The conversation so far, oldest first' }),
    max_tokens: z.int().min(1).max(100_000_000).nullish().meta({
      description:
        'Cap on the tokens of the answer, thinking included; default: what the model and the balance allow',
    }),
    stream: z.boolean().nullish().meta({ description: 'true: the answer comes as server-sent events' }),
    system: z
      .union([z.string(), z.array(block)])
      .nullish()
      .meta({ description: 'System prompt: instructions that come before the conversation' }),
    stop_sequences: z
      .array(z.string())
      .nullish()
      .meta({ description: 'The answer stops before any of these' }),
    temperature: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .meta({ description: "Sampling temperature: higher is more random; by default the provider's own" }),
    top_p: z.number().min(0).max(1).nullish().meta({
      description:
        "Nucleus sampling: draw from the likeliest tokens up to this total probability; by default the provider's own",
    }),
    top_k: z
      .int()
      .min(0)
      .nullish()
      .meta({ description: "Draw from this many of the likeliest tokens; by default the provider's own" }),
    mcp_servers: z
      .null({ error: 'is not supported here; run the tools of the server yourself' })
      .optional()
      .meta({ description: 'Not supported: only tools that the caller runs are' }),
    tools: z.array(tool).nullish().meta({ description: 'Tools that the model may call' }),
    tool_choice: z
      .union([
        z.string(),
        z.looseObject({ type: z.string().meta({ description: 'tool, auto, any or none' }) }),
      ])
      .nullish()
      .meta({ description: '"auto", "any", "none", the name of a tool, or an object that names one' }),
    thinking: z
      .looseObject({
        type: z.string().meta({ description: 'enabled, adaptive, between_tools or disabled' }),
        budget_tokens: z.int().min(1).optional().meta({ description: 'Cap on the tokens of thinking' }),
      })
      .nullish()
      .meta({ description: 'Whether the model thinks before it answers; by default as the model does' }),
    metadata: z
      .looseObject({
        user_id: z.string().max(512).nullish().meta({ description: 'Your id for the end user' }),
      })
      .nullish()
      .meta({ description: 'Passed to the provider' }),
    // from the first call on: a later one sends only its new messages, and the model would answer without the others
    thread: z
      .null({ error: 'conversations are not stored here; send all messages with every call' })
      .optional()
      .meta({ description: 'Not supported: send all messages with every call' }),
  })
  .meta({ id: 'MessagesRequest' });

const messagesUsage = usageJson
  .extend({
    cache_read_input_tokens: z.int().meta({ description: 'Read from a cache; not included in input_tokens' }),
    cache_creation_input_tokens: z
      .int()
      .meta({ description: 'Written to a cache; not included in input_tokens' }),
    cost: z.number().meta({ description: 'In USD, as a number; charged_amount of the generation is exact' }),
  })
  .meta({ id: 'MessagesUsage', description: 'input_tokens is the uncached part, total_tokens the whole' });

const answeredBlock = z
  .looseObject({
    type: z.string().meta({ description: 'Kind of block', examples: ['text', 'tool_use', 'thinking'] }),
    text: z.string().optional().meta({ description: 'Text of a text block' }),
    id: z.string().optional().meta({ description: 'Of a tool_use block: its id' }),
    name: z.string().optional().meta({ description: 'Of a tool_use block: name of the tool' }),
    input: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Of a tool_use block: input of the tool' }),
    thinking: z.string().optional().meta({ description: 'Of a thinking block: its text' }),
    signature: z.string().optional().meta({ description: 'Of a thinking block: send it back unchanged' }),
  })
  .meta({ id: 'MessageBlock' });

/** Number of tokens that a message call would send. */
export const inputCount = z
  .object({ input_tokens: z.int().min(0).meta({ description: 'Tokens of the prompt, estimated' }) })
  .meta({ id: 'MessageTokenCount' });

/** One event of a streamed message. */
export const messageEvent = z
  .looseObject({
    type: z
      .enum([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
        'ping',
        'error',
      ])
      .meta({ description: 'Kind of event' }),
    index: z.int().optional().meta({ description: 'Index of the block that the event is about, from 0' }),
    content_block: answeredBlock
      .optional()
      .meta({ description: 'Of content_block_start: the initial block' }),
    delta: z.looseObject({}).optional().meta({
      description: 'Of content_block_delta: the next piece of the block; of message_delta: its stop_reason',
    }),
    usage: messagesUsage.partial().optional().meta({ description: 'Of message_delta: the tokens so far' }),
  })
  .meta({ id: 'MessageStreamEvent' });

/** A message: the whole answer, or what the events of a stream add up to. */
export const messageAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    type: z.literal('message').meta({ description: 'Always message' }),
    role: z.literal('assistant').meta({ description: 'Always assistant' }),
    content: z.array(answeredBlock).meta({ description: 'The answer' }),
    model: modelId.meta({ description: 'Public id of the model that answered' }),
    stop_reason: z.string().meta({
      description: 'Why the answer ended: end_turn, max_tokens, stop_sequence, tool_use or refusal',
    }),
    stop_sequence: z
      .string()
      .nullable()
      .meta({ description: 'The stop sequence that ended the answer; null when none did' }),
    usage: messagesUsage.meta({ description: 'Tokens and their cost' }),
  })
  .meta({ id: 'Message' });

import { z } from 'zod';

/** Whether http: is let through, and to which hosts, is decided for all media at once: input-links.ts. */
const imageUrl = z.string().regex(/^(?:https?:\/\/|data:image\/)/, 'must be an https: or data:image/ URL');

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
              description:
                'An https: URL of a public host, which the provider fetches, or a data:image/ URL; http: where the operator allows it',
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

const functionCall = z
  .looseObject({
    name: z.string().meta({ description: 'Name of the function' }),
    arguments: z.string().meta({ description: 'JSON, as text' }),
  })
  .meta({ id: 'ChatFunctionCall' });

/** Who says nothing without content; an answer may be calls alone. */
const ASKING: ReadonlySet<string> = new Set(['system', 'developer', 'user']);

const message = z
  .looseObject({
    role: z
      .enum(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
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
      .nullish()
      .meta({ description: 'Of an assistant message: what the model called' }),
    function_call: functionCall.nullish().meta({ description: 'Of the older form, before tools' }),
  })
  .refine(({ role, content }) => !ASKING.has(role) || (content !== undefined && content !== null), {
    path: ['content'],
    message: 'is required',
  })
  .meta({ id: 'ChatRequestMessage' });

const namedFunction = z.looseObject({
  name: z.string().min(1).max(128).meta({ description: 'What the model calls it by' }),
  description: z.string().nullish().meta({ description: 'What it does, for the model' }),
  parameters: z.looseObject({}).nullish().meta({ description: 'A JSON schema' }),
  strict: z.boolean().nullish().meta({ description: 'Arguments have to fit the schema exactly' }),
});

const tool = z
  .looseObject({
    type: z
      .string()
      .default('function')
      .meta({ description: 'function; other kinds reach only providers that know them' }),
    function: namedFunction.optional().meta({ description: 'What the model may call' }),
  })
  .meta({ id: 'ChatTool' });

/** OpenRouter's: how many models one call may try. */
const FALLBACKS_MAX = 8;

export const fallbackModels = z.array(z.string().min(1).max(256)).max(FALLBACKS_MAX).meta({
  description:
    'Models to fall back to, in this order, when `model` fails before its first byte or the prompt is too long for it. The most expensive one is held, the one that answers is charged and named in the answer',
});

/**
 * OpenAI takes 64 bits, and clients draw that many. A JSON number has 53: a larger seed is rounded by JSON.parse, to what may not fit
 * into 64 bits any more, so its remainder is sent, as engines are sent theirs.
 */
const seed = z
  .number()
  .meta({ type: 'integer' })
  .refine((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63, {
    error: 'must be an integer of 64 bits',
  })
  .transform((value) => (Number.isSafeInteger(value) ? value : value % Number.MAX_SAFE_INTEGER));

const tokens = z.int().min(1).max(100_000_000);

/** Body of a chat completion. Members it does not know are handed on where the provider speaks the same dialect. */
export const chatRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id of the model list' }),
    models: fallbackModels.nullish(),
    messages: z.array(message).min(1).meta({ description: 'The conversation so far, oldest first' }),
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
    top_p: z.number().min(0).max(1).nullish().meta({
      description:
        "Nucleus sampling: draw from the likeliest tokens up to this total probability; by default the provider's own",
    }),
    tools: z.array(tool).nullish().meta({ description: 'Tools that the model may call' }),
    tool_choice: z
      .union([z.string(), z.looseObject({ type: z.string().meta({ description: 'function' }) })])
      .nullish()
      .meta({ description: '"none", "auto", "required", the name of a tool, or an object that names one' }),
    parallel_tool_calls: z
      .boolean()
      .nullish()
      .meta({ description: 'false: at most one tool call in an answer' }),
    functions: z.array(namedFunction).nullish().meta({
      description:
        'The form before `tools`: the answer has at most one call, as `function_call`. Sent to the provider as tools',
    }),
    function_call: z
      .union([z.string(), z.looseObject({ name: z.string().meta({ description: 'Which of `functions`' }) })])
      .nullish()
      .meta({ description: '"none", "auto", or an object that names one of `functions`' }),
    response_format: z
      .looseObject({ type: z.string().meta({ description: 'text, json_object or json_schema' }) })
      .nullish()
      .meta({ description: 'Format of the answer; by default text' }),
    stop: z
      .union([z.string(), z.array(z.string())])
      .nullish()
      .meta({ description: 'The answer ends before any of these' }),
    n: z
      .literal(1, { error: 'only one answer per call is supported' })
      .nullish()
      .meta({ description: 'Answers per call: 1' }),
    seed: seed.nullish().meta({
      description:
        'Makes a repeated answer likelier where the provider supports it. One beyond 53 bits is sent as its remainder by 2^53 − 1: the same seed, the same number',
    }),
    user: z
      .string()
      .max(512)
      .nullish()
      .meta({ description: 'Your id of the end user; passed to the provider' }),
  })
  .meta({ id: 'ChatRequest' });

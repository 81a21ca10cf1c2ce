import { z } from 'zod';

/** input-links.ts decides for all media whether http: is allowed, and for which hosts. */
const imageUrl = z.string().regex(/^(?:https?:\/\/|data:image\/)/, 'must be an https: or data:image/ URL');

const contentPart = z
  .looseObject({
    type: z.string().meta({
      description: 'text, image_url, or another kind that the model accepts: input_audio, file, video_url',
    }),
    text: z.string().optional().meta({ description: 'Text of a text part' }),
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
      .meta({ description: 'Image of an image_url part' }),
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
      .meta({ description: 'The function that the model called' }),
  })
  .meta({ id: 'ChatRequestToolCall' });

const functionCall = z
  .looseObject({
    name: z.string().meta({ description: 'Name of the function' }),
    arguments: z.string().meta({ description: 'JSON, as text' }),
  })
  .meta({ id: 'ChatFunctionCall' });

/** Roles that require content. An assistant answer may consist of tool calls alone. */
const ASKING: ReadonlySet<string> = new Set(['system', 'developer', 'user']);

const message = z
  .looseObject({
    role: z
      .enum(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
      .default('user')
      .meta({ description: 'Author of the message' }),
    content: z
      .union([z.string(), z.array(contentPart)])
      .nullish()
      .meta({ description: 'Text, or parts of text and media; may be null with tool calls' }),
    name: z
      .string()
      .nullish()
      .meta({ description: 'Name of the author, to distinguish several with the same role' }),
    tool_call_id: z.string().nullish().meta({ description: 'Of a tool message: the call it answers' }),
    tool_calls: z
      .array(toolCall)
      .nullish()
      .meta({ description: 'Of an assistant message: the tool calls of the model' }),
    function_call: functionCall.nullish().meta({ description: 'Call in the older form that tools replaced' }),
  })
  .refine(({ role, content }) => !ASKING.has(role) || (content !== undefined && content !== null), {
    path: ['content'],
    message: 'is required',
  })
  .meta({ id: 'ChatRequestMessage' });

const namedFunction = z.looseObject({
  name: z.string().min(1).max(128).meta({ description: 'Name by which the model calls it' }),
  description: z.string().nullish().meta({ description: 'What it does; the model reads this' }),
  parameters: z.looseObject({}).nullish().meta({ description: 'A JSON schema' }),
  strict: z.boolean().nullish().meta({ description: 'Whether arguments must match the schema exactly' }),
});

const tool = z
  .looseObject({
    type: z
      .string()
      .default('function')
      .meta({ description: 'function; other kinds work only with providers that support them' }),
    function: namedFunction.optional().meta({ description: 'The function that the model may call' }),
  })
  .meta({ id: 'ChatTool' });

/** OpenRouter's limit on how many models one call may try. */
const FALLBACKS_MAX = 8;

export const fallbackModels = z.array(z.string().min(1).max(256)).max(FALLBACKS_MAX).meta({
  description:
    'Models to fall back to, in this order, when `model` fails before its first byte or the prompt is too long for it. The hold covers the most expensive one; the one that answers is charged and named in the answer',
});

/**
 * OpenAI accepts 64 bits, and clients draw that many. A JSON number holds 53: JSON.parse rounds a larger seed, possibly beyond 64 bits,
 * so its remainder is sent. Engines get the same treatment.
 */
const seed = z
  .number()
  .meta({ type: 'integer' })
  .refine((value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63, {
    error: 'must be a 64-bit integer',
  })
  .transform((value) => (Number.isSafeInteger(value) ? value : value % Number.MAX_SAFE_INTEGER));

const tokens = z.int().min(1).max(100_000_000);

/** Body of a chat completion. request-policy.ts decides which members not listed here may reach a provider. */
export const chatRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id from the model list' }),
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
        'The older form of `tools`: the answer has at most one call, in `function_call`. Sent to the provider as tools',
    }),
    function_call: z
      .union([
        z.string(),
        z.looseObject({ name: z.string().meta({ description: 'Name of one of `functions`' }) }),
      ])
      .nullish()
      .meta({ description: '"none", "auto", or an object that names one of `functions`' }),
    response_format: z
      .looseObject({ type: z.string().meta({ description: 'text, json_object or json_schema' }) })
      .nullish()
      .meta({ description: 'Format of the answer; by default text' }),
    stop: z
      .union([z.string(), z.array(z.string())])
      .nullish()
      .meta({ description: 'The answer stops before any of these' }),
    n: z
      .literal(1, { error: 'only one answer per call is supported' })
      .nullish()
      .meta({ description: 'Answers per call: 1' }),
    seed: seed.nullish().meta({
      description:
        'Makes the same request more likely to get the same answer, where the provider supports it. A seed beyond 53 bits is sent as its remainder modulo 2^53 − 1, so the same seed always becomes the same number',
    }),
    user: z
      .string()
      .max(512)
      .nullish()
      .meta({ description: 'Your id for the end user; passed to the provider' }),
  })
  .meta({ id: 'ChatRequest' });

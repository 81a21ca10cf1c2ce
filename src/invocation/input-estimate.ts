import { AppError } from '../lib/errors.ts';
import type { LoopTurns } from '../lib/loop-turns.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { isObject, type JsonObject, objectsOf, textOf } from '../providers/json.ts';
import type { Dialect } from '../providers/provider.types.ts';
import { countsAtOnce, countTokens, countTokensInSteps } from '../providers/token-counter.ts';

/** Tokens around one message: role and separators. */
const MESSAGE_TOKENS = 4;
/** Instructions that providers put in front of a request with tools, in tokens (Anthropic documents up to 530). */
const TOOLS_PREAMBLE_TOKENS = 600;
/** What an image usually is, and the most it is where nothing else is configured, in tokens (Anthropic: up to 1,600). */
const IMAGE_TOKENS_TYPICAL = 765;
const IMAGE_TOKENS_MAX = 1_600;
/** Base64 characters of a document per token, as a lower bound of what a page weighs. */
const DOCUMENT_CHARACTERS_PER_TOKEN = 4;
/**
 * How many more tokens than ours a provider's tokenizer may make of plain text. Measured for English, code and JSON:
 * vocabularies of 32 k make up to a fifth more than o200k_base, Anthropic's up to a half more.
 */
const MARGINS: Readonly<Record<Dialect, number>> = { chat: 1.25, messages: 1.6 };

/** Members that shape a request without being read by the model. */
const SILENT_MEMBERS = new Set([
  'type',
  'role',
  'id',
  'tool_call_id',
  'tool_use_id',
  'cache_control',
  'detail',
]);

/** What a request holds, sorted by how it becomes tokens. */
export interface InputContent {
  readonly text: string;
  readonly messages: number;
  readonly images: number;
  readonly documentCharacters: number;
  readonly hasTools: boolean;
}

export interface InputEstimate {
  /** Our best count, for the context check and for charges when the provider reports nothing. */
  readonly tokens: number;
  /** At least what any of our providers will count, for the hold. */
  readonly upperBound: number;
  readonly images: number;
}

export interface EstimateLimits {
  readonly contextLength: number;
  /** Most tokens one image can be; undefined: the usual bound. */
  readonly imageTokens: number | undefined;
  /** Dialects of the providers that may serve the call. */
  readonly dialects: readonly Dialect[];
}

/** Takes a request of either dialect apart. Walks each value once; depth is bounded by the kernel. */
export function inputContent(body: JsonObject): InputContent {
  const collected = { texts: [] as string[], images: 0, documentCharacters: 0 };
  const { messages, system, tools, response_format, output_config } = body;
  collect([messages, system], collected);
  const hasTools = Array.isArray(tools) && tools.length > 0;
  for (const member of [hasTools ? tools : undefined, response_format, output_config]) {
    if (member !== undefined) {
      collected.texts.push(JSON.stringify(member));
    }
  }
  const { texts, images, documentCharacters } = collected;
  return {
    text: texts.join('\n'),
    messages: objectsOf(messages).length,
    images,
    documentCharacters,
    hasTools,
  };
}

/**
 * Counts a request's input tokens, a long text when its turn comes. Throws AppError context_length_exceeded when the text alone is
 * longer than the model's context, as soon as that is certain, and service_unavailable when no turn came in time.
 */
export async function estimateInput(
  content: InputContent,
  limits: EstimateLimits,
  turns: LoopTurns,
  signal?: StopSignal,
): Promise<InputEstimate> {
  const { text } = content;
  const textTokens = countsAtOnce(text)
    ? countTokens(text)
    : await turns.run(countTokensInSteps(text, limits.contextLength), signal);
  const tokens = textTokens + fixedTokens(content, IMAGE_TOKENS_TYPICAL);
  if (textTokens >= limits.contextLength) {
    throw contextExceeded(limits.contextLength);
  }
  const margin = Math.max(1, ...limits.dialects.map((dialect) => MARGINS[dialect]));
  const bound =
    Math.ceil(textTokens * margin) +
    // Vocabularies made for English spell other scripts in bytes.
    countNonAscii(text) +
    fixedTokens(content, limits.imageTokens ?? IMAGE_TOKENS_MAX) +
    content.messages * MESSAGE_TOKENS +
    (content.hasTools ? TOOLS_PREAMBLE_TOKENS : 0) +
    MESSAGE_TOKENS;
  return {
    tokens: Math.min(tokens, limits.contextLength),
    upperBound: Math.min(bound, limits.contextLength),
    images: content.images,
  };
}

/** The refusal of a request that cannot fit. */
export function contextExceeded(contextLength: number): AppError {
  return new AppError(
    'context_length_exceeded',
    `the messages do not fit into the model's context of ${contextLength} tokens`,
  );
}

function fixedTokens(content: InputContent, imageTokens: number): number {
  return (
    content.messages * MESSAGE_TOKENS +
    content.images * imageTokens +
    Math.ceil(content.documentCharacters / DOCUMENT_CHARACTERS_PER_TOKEN)
  );
}

interface Collected {
  readonly texts: string[];
  images: number;
  documentCharacters: number;
}

function collect(value: unknown, into: Collected): void {
  if (typeof value === 'string') {
    into.texts.push(value);
    return;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      collect(item, into);
    }
    return;
  }
  if (isObject(value)) {
    collectObject(value, into);
  }
}

function collectObject(object: JsonObject, into: Collected): void {
  switch (object.type) {
    case 'image':
    case 'image_url':
      into.images += 1;
      return;
    case 'file':
    case 'document':
      into.documentCharacters += longestText(object);
      return;
    case 'tool_use':
      into.texts.push(textOf(object.name), JSON.stringify(object.input ?? {}));
      return;
    default:
      for (const [name, member] of Object.entries(object)) {
        if (!SILENT_MEMBERS.has(name)) {
          collect(member, into);
        }
      }
  }
}

/** A document's bytes, wherever its dialect keeps them. */
function longestText(value: unknown): number {
  if (typeof value === 'string') {
    return value.length;
  }
  return isObject(value) ? Math.max(0, ...Object.values(value).map(longestText)) : 0;
}

function countNonAscii(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    count += text.charCodeAt(index) > 0x7f ? 1 : 0;
  }
  return count;
}

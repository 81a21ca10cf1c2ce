import { createHash } from 'node:crypto';
import { AppError } from '../../lib/errors.ts';
import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import type { Effort } from './efforts.ts';
import { askedFormat } from './json-answers.ts';
import { sourceOfBlock, urlOfSource } from './media-parts.ts';
import { effortOf } from './reasoning-settings.ts';
import { isStrictSchema } from './strict-schema.ts';
import { addedTools, isSystemTurn, systemTurnsInPlace } from './system-turns.ts';
import { detailsOfBlocks } from './thinking-details.ts';
import { chatToolChoice, readMessagesToolPolicy } from './tool-choices.ts';
import { providerToolId } from './tool-ids.ts';
import { shortToolName } from './tool-names.ts';
import { untranslatable } from './untranslatable.ts';

export interface ChatTarget {
  readonly maxOutputTokens: number;
  /** Whether the model reasons. Other models reject `reasoning_effort`. */
  readonly reasoning: boolean;
  /** Highest effort that the model knows. */
  readonly topEffort: Effort;
  /** See ModelRules. */
  readonly needsReasoningBack: boolean;
  readonly details: readonly string[];
  readonly stopsMax: number;
}

/**
 * Translates a messages request into a chat request. Leaves out `top_k`, cache markers and, except for models that want it back,
 * thinking, because chat cannot express them. Throws AppError invalid_parameter for anything whose omission would change the
 * meaning.
 */
export function* messagesRequestToChat(body: JsonObject, target: ChatTarget): Steps<JsonObject> {
  const given = systemTurnsInPlace(body.messages);
  const turns = yield* flatMapInSteps(given, (turn) => messagesOfTurn(turn, target));
  if (turns.length === 0 && Array.isArray(body.messages)) {
    throw new AppError('invalid_parameter', 'messages: must contain at least one message with content');
  }
  const tools = yield* mapInSteps([...objectsOf(body.tools), ...addedTools(given)], toolOf);
  const system = textBlocks(body.system);
  return compact({
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turns],
    tools: tools.length === 0 ? undefined : tools,
    ...(tools.length === 0 ? {} : toolChoice(body)),
    stop: stops(body.stop_sequences, target),
    temperature: body.temperature,
    top_p: body.top_p,
    reasoning_effort: target.reasoning ? effortOf(body, target.maxOutputTokens, target.topEffort) : undefined,
    response_format: responseFormat(body),
    user: userOf(body.metadata),
  });
}

function toolChoice(body: JsonObject): JsonObject {
  const policy = readMessagesToolPolicy(body);
  return chatToolChoice(policy.name === undefined ? policy : { ...policy, name: shortToolName(policy.name) });
}

function stops(sequences: unknown, { stopsMax }: ChatTarget): readonly unknown[] | undefined {
  if (!Array.isArray(sequences) || sequences.length === 0) {
    return undefined;
  }
  if (sequences.length > stopsMax) {
    throw new AppError('invalid_parameter', `stop_sequences: this model accepts at most ${stopsMax}`);
  }
  return sequences;
}

/** Longest `user` that OpenAI accepts, in UTF-16 units (OpenRouter 128, Zhipu 128). Claude Code sends longer ones. */
const USER_LENGTH_MAX = 64;

/** Returns the end user's id. A hash replaces an id that is too long, so the same user keeps the same id. */
function userOf(metadata: unknown): unknown {
  const user = objectOf(metadata).user_id;
  return typeof user === 'string' && user.length > USER_LENGTH_MAX
    ? createHash('sha256').update(user).digest('hex')
    : user;
}

function* messagesOfTurn(turn: JsonObject, target: ChatTarget): Steps<JsonObject[]> {
  if (typeof turn.content === 'string') {
    return [{ role: turn.role, content: turn.content }];
  }
  const blocks = objectsOf(turn.content);
  if (isSystemTurn(turn)) {
    const text = textBlocks(blocks);
    return text === '' ? [] : [{ role: turn.role, content: text }];
  }
  return turn.role === 'assistant' ? yield* assistantMessages(blocks, target) : yield* userMessages(blocks);
}

/** Returns no message when chat cannot express anything in it: Mistral rejects a turn with neither text nor calls. */
function* assistantMessages(blocks: readonly JsonObject[], target: ChatTarget): Steps<JsonObject[]> {
  const text = textBlocks(blocks.filter((block) => block.type === 'text'));
  const calls = yield* mapInSteps(
    blocks.filter((block) => block.type === 'tool_use'),
    callOfBlock,
  );
  if (text === '' && calls.length === 0) {
    return [];
  }
  const details = detailsOfBlocks(blocks, target.details);
  const message = compact({
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.length === 0 ? undefined : calls,
    reasoning_content: target.needsReasoningBack && calls.length > 0 ? thoughtsOf(blocks) : undefined,
    reasoning_details: details.length === 0 ? undefined : details,
  });
  return [message];
}

/** Returns the call of a `tool_use` block. */
export function callOfBlock(block: JsonObject): JsonObject {
  const { id, extra } = providerToolId(block.id);
  const named = { name: shortToolName(textOf(block.name)), arguments: JSON.stringify(block.input ?? {}) };
  return compact({ id, type: 'function', function: named, extra_content: extra });
}

/** Returns the reasoning of chat providers, which is unsigned. Signed reasoning is Claude's. */
export function thoughtsOf(blocks: readonly JsonObject[]): string | undefined {
  const thoughts = blocks
    .filter((block) => block.type === 'thinking' && textOf(block.signature) === '')
    .map((block) => textOf(block.thinking))
    .join('');
  return thoughts === '' ? undefined : thoughts;
}

/** Splits a user turn: tool results are separate messages and must directly follow the calls; the rest of the turn comes after them. */
function* userMessages(blocks: readonly JsonObject[]): Steps<JsonObject[]> {
  const results = blocks.filter((block) => block.type === 'tool_result');
  const rest = blocks.filter((block) => block.type !== 'tool_result');
  const images = results.flatMap(mediaOfResult);
  const parts = (yield* mapInSteps([...images, ...rest], partsOfBlock)).flat();
  const answered = yield* mapInSteps(results, resultOfBlock);
  return [...answered, ...(parts.length === 0 ? [] : [{ role: 'user', content: plainIfPossible(parts) }])];
}

/** Returns the message of a `tool_result` block, with its text alone. */
export function resultOfBlock(result: JsonObject): JsonObject {
  const { id } = providerToolId(result.tool_use_id);
  return { role: 'tool', tool_call_id: id, content: resultText(result) };
}

/** Returns the blocks of a tool result that chat can only show to the model as the user's. */
export function mediaOfResult(result: JsonObject): readonly JsonObject[] {
  return objectsOf(result.content).filter(({ type }) => type !== 'text' && type !== 'tool_reference');
}

/** Returns the text of a tool result. It also states what chat cannot express: a failed call, and tools that a search found. */
function resultText(result: JsonObject): string {
  const found = objectsOf(result.content)
    .filter((block) => block.type === 'tool_reference')
    .map((block) => `Tool available: ${shortToolName(textOf(block.tool_name))}`);
  const text = [textBlocks(result.content), ...found].filter((part) => part !== '').join('\n');
  return result.is_error === true ? `Error: ${text}` : text;
}

/** Returns a single text part as a plain string, because small servers support only string content. */
function plainIfPossible(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? textOf(only.text) : parts;
}

/** Returns what chat has for a block of text or media. Throws AppError invalid_parameter for others. */
export function partsOfBlock(block: JsonObject): JsonObject[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: textOf(block.text) }];
    case 'image': {
      const source = sourceOfBlock(block);
      if (!source) {
        throw untranslatable('an image by its file id');
      }
      return [{ type: 'image_url', image_url: { url: urlOfSource(source) } }];
    }
    case 'document':
      return documentParts(block);
    default:
      throw untranslatable(`content of type ${JSON.stringify(block.type)}`);
  }
}

/** Returns a document as chat can express it: the model also reads its title and its context, so they stand before its text. */
function documentParts(block: JsonObject): JsonObject[] {
  const inline = objectOf(block.source);
  const [title, context] = [textOf(block.title), textOf(block.context)];
  const textPart = (...texts: string[]) => ({
    type: 'text',
    text: texts.filter((text) => text !== '').join('\n'),
  });
  if (inline.type === 'text') {
    return [textPart(title, context, textOf(inline.data))];
  }
  if (inline.type === 'content') {
    if (objectsOf(inline.content).some(({ type }) => type !== 'text')) {
      throw untranslatable('a document with images');
    }
    return [textPart(title, context, textBlocks(inline.content))];
  }
  const source = sourceOfBlock(block);
  if (source?.kind !== 'base64') {
    throw untranslatable('a document that is not sent inline');
  }
  const file = { filename: title || 'document.pdf', file_data: urlOfSource(source) };
  return [...(context === '' ? [] : [textPart(context)]), { type: 'file', file }];
}

function textBlocks(content: unknown): string {
  if (typeof content === 'string') {
    return content;
  }
  return objectsOf(content)
    .map((block) => textOf(block.text))
    .filter((text) => text !== '')
    .join('\n');
}

function toolOf(tool: JsonObject): JsonObject {
  if (tool.type !== undefined && tool.type !== 'custom') {
    throw untranslatable(`a tool of type ${JSON.stringify(tool.type)}`);
  }
  const definition = compact({
    name: shortToolName(textOf(tool.name)),
    description: tool.description,
    parameters: tool.input_schema,
    strict: tool.strict === true && isStrictSchema(tool.input_schema) ? true : undefined,
  });
  return { type: 'function', function: definition };
}

function responseFormat(body: JsonObject): JsonObject | undefined {
  const [format] = askedFormat(body, 'messages');
  if (format.type !== 'json_schema') {
    return undefined;
  }
  const { schema } = format;
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrictSchema(schema) } };
}

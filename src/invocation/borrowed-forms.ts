import { IgnoredMembers } from '../http/input/ignored-members.ts';
import { merged } from '../lib/merged.ts';
import { flatMapInSteps, isStepOver, mapInSteps, type Steps } from '../lib/steps.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  without,
} from '../providers/json.ts';
import {
  callOfBlock,
  mediaOfResult,
  partsOfBlock,
  resultOfBlock,
} from './dialects/messages-request-to-chat.ts';
import { OfferedTools } from './responses/offered-tools.ts';

/**
 * Forms of other protocols in requests to chat completions. Cursor sends the whole body in the form of Responses, or single tools so, or
 * tools and turns in Anthropic's form, by the name of the model, and reads chat answers
 * (forum.cursor.com/t/153019, forum.cursor.com/t/145588).
 */

/** Blocks of messages by which chat says something in another place. */
const BORROWED: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result', 'image', 'document']);

/** Returns a body to chat completions that is in the form of Responses; undefined for any other. */
export function readResponsesForm(sent: unknown): Steps<JsonObject> | undefined {
  return isObject(sent) && sent.messages === undefined && sent.input !== undefined
    ? wholeResponsesForm(sent)
    : undefined;
}

/** Brings tools, their choice and turns of another form into that of Responses. Whatever is no object is left to the validation. */
function* wholeResponsesForm(sent: JsonObject): Steps<JsonObject> {
  const tools = Array.isArray(sent.tools) ? sent.tools.map(flatTool) : undefined;
  const free = namesOfFreeText(tools);
  const freeCalls = new Set<unknown>();
  const input = Array.isArray(sent.input)
    ? yield* flatMapInSteps(sent.input, function* (item: unknown): Steps<readonly unknown[]> {
        return isObject(item) ? itemsOf(item).map((one) => withFreeText(one, free, freeCalls)) : [item];
      })
    : sent.input;
  return merged(sent, compact({ input, tools, tool_choice: flatChoice(sent.tool_choice) }));
}

/** A chat request in chat's own form. */
interface PlainRequest<Body> {
  readonly body: Body;
  /** The tools, if they were in another form: calls of them are presented as {@link OfferedTools} has them. */
  readonly tools: OfferedTools | undefined;
  /** Paths of the members that were left out. */
  readonly ignored: readonly string[];
}

/** Converts the tools and turns of a chat request that are in another form. Throws AppError for tools that the caller does not run. */
export function* inChatForm<Body extends JsonObject>(given: Body): Steps<PlainRequest<Body>> {
  const body = yield* withoutBorrowedBlocks(given);
  if (!objectsOf(body.tools).some(isFlat)) {
    return { body, tools: undefined, ignored: [] };
  }
  const flat = objectsOf(body.tools).map(flatTool);
  const ignored = new IgnoredMembers();
  const tools = yield* OfferedTools.of(flat, ignored);
  const offered = yield* tools.chatMembers(flatChoice(body.tool_choice));
  const messages = yield* withFreeTextArguments(body.messages, namesOfFreeText(flat));
  const plain = merged(without(body, 'tools', 'tool_choice'), merged(offered, { messages }));
  return { body: plain as Body & JsonObject, tools, ignored: ignored.paths };
}

/** Moves calls, results and media that stand in the turns of a chat request as Anthropic's blocks to where chat has them. */
function* withoutBorrowedBlocks<Body extends JsonObject>(body: Body): Steps<Body> {
  const turns = objectsOf(body.messages);
  const isBorrowed = ({ content }: JsonObject) => Array.isArray(content) && content.some(isBorrowedBlock);
  if (!turns.some(isBorrowed)) {
    return body;
  }
  const messages: JsonObject[] = [];
  for (const turn of turns) {
    for (const message of isBorrowed(turn) ? messagesOf(turn) : [turn]) {
      messages.push(message);
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return merged(body, { messages }) as unknown as Body;
}

/**
 * Gives calls of tools that take free text their only argument. Such a client has them as functions whose arguments are the text itself.
 */
function* withFreeTextArguments(messages: unknown, free: ReadonlySet<unknown>): Steps<JsonObject[]> {
  return yield* mapInSteps(objectsOf(messages), (message) =>
    free.size > 0 && Array.isArray(message.tool_calls)
      ? merged(message, { tool_calls: objectsOf(message.tool_calls).map((call) => wrapped(call, free)) })
      : message,
  );
}

function wrapped(call: JsonObject, free: ReadonlySet<unknown>): JsonObject {
  const { name, arguments: text } = objectOf(call.function);
  return free.has(name)
    ? merged(call, { function: { name, arguments: JSON.stringify({ input: textOf(text) }) } })
    : call;
}

function isBorrowedBlock(block: unknown): boolean {
  return isObject(block) && BORROWED.has(block.type);
}

function messagesOf(turn: JsonObject): JsonObject[] {
  const blocks = objectsOf(turn.content);
  if (turn.role === 'assistant') {
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(callOfBlock);
    const content = blocks.filter((block) => !isBorrowedBlock(block));
    const tool_calls = [...objectsOf(turn.tool_calls), ...calls];
    return [merged(turn, { content: content.length === 0 ? null : content, tool_calls })];
  }
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const rest = blocks
    .flatMap((block) => (block.type === 'tool_result' ? mediaOfResult(block) : [block]))
    .flatMap((block) => (isBorrowedBlock(block) ? partsOfBlock(block) : [block]));
  return [...results.map(resultOfBlock), ...(rest.length === 0 ? [] : [merged(turn, { content: rest })])];
}

function isFlat(tool: JsonObject): boolean {
  return !isObject(tool.function) && !isObject(tool.custom) && textOf(tool.name) !== '';
}

/** Returns a tool in the form of Responses: from chat's, which nests it, and from Anthropic's, which has an `input_schema`. */
function flatTool(tool: unknown): unknown {
  if (!isObject(tool)) {
    return tool;
  }
  const nested = [tool.function, tool.custom].find(isObject);
  if (nested) {
    return { type: isObject(tool.custom) ? 'custom' : 'function', ...nested };
  }
  const isOfCaller = [undefined, 'custom', 'function'].includes(tool.type as string | undefined);
  return isOfCaller && isObject(tool.input_schema)
    ? { ...without(tool, 'input_schema'), type: 'function', parameters: tool.input_schema }
    : tool;
}

/** Anthropic's words for choices of tools, and those of chat and Responses. */
const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', none: 'none', any: 'required' };

function flatChoice(choice: unknown): unknown {
  if (!isObject(choice)) {
    return choice ?? undefined;
  }
  const { type } = choice;
  const nested = [choice.function, choice.custom].find(isObject);
  if (nested) {
    return { type, ...nested };
  }
  return CHOICES[textOf(type)] ?? (type === 'tool' ? { ...choice, type: 'function' } : choice);
}

function namesOfFreeText(tools: unknown): ReadonlySet<unknown> {
  return new Set(
    objectsOf(tools)
      .filter(({ type }) => type === 'custom')
      .map(({ name }) => name),
  );
}

/** Separates calls and results in a turn of Anthropic's form from its other content: in Responses they are items. */
function itemsOf(item: JsonObject): readonly JsonObject[] {
  const { content } = item;
  if (!Array.isArray(content) || !content.some(isBorrowedBlock)) {
    return [item];
  }
  const calls: JsonObject[] = [];
  const parts: unknown[] = [];
  for (const block of content) {
    if (isObject(block) && block.type === 'tool_use') {
      const { id: call_id, name, input } = block;
      calls.push({ type: 'function_call', call_id, name, arguments: JSON.stringify(input ?? {}) });
    } else if (isObject(block) && block.type === 'tool_result') {
      const { tool_call_id: call_id, content: output } = resultOfBlock(block);
      calls.push({ type: 'function_call_output', call_id, output });
      parts.push(...mediaOfResult(block).map(inputPartOf));
    } else {
      parts.push(isBorrowedBlock(block) ? inputPartOf(objectOf(block)) : block);
    }
  }
  const message = parts.length === 0 ? [] : [merged(item, { content: parts })];
  return item.role === 'assistant' ? [...message, ...calls] : [...calls, ...message];
}

function inputPartOf(block: JsonObject): JsonObject {
  const [part = {}] = partsOfBlock(block);
  const { file } = part;
  return part.type === 'image_url'
    ? { type: 'input_image', image_url: objectOf(part.image_url).url }
    : { type: 'input_file', ...objectOf(file) };
}

/** Returns a call of a tool that takes free text, and its output, as such; others unchanged. */
function withFreeText(item: JsonObject, free: ReadonlySet<unknown>, calls: Set<unknown>): JsonObject {
  if (item.type === 'function_call' && free.has(item.name)) {
    calls.add(item.call_id);
    return { ...without(item, 'arguments'), type: 'custom_tool_call', input: item.arguments };
  }
  return item.type === 'function_call_output' && calls.has(item.call_id)
    ? { ...item, type: 'custom_tool_call_output' }
    : item;
}

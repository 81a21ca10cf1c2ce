import type { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { isStepOver, mapInSteps, type Steps } from '../../lib/steps.ts';
import { compact, isObject, type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import { isSystemTurn } from '../dialects/system-turns.ts';
import { providerToolId } from '../dialects/tool-ids.ts';
import type { OfferedTools } from './offered-tools.ts';
import { openReasoning } from './sealed-content.ts';

/** Translates `instructions` and `input` of a Responses request into chat messages. */
export function* chatHistory(
  instructions: unknown,
  input: unknown,
  tools: OfferedTools,
  ignored: IgnoredMembers,
): Steps<JsonObject[]> {
  const history = new ChatHistory(tools, ignored);
  if (textOf(instructions) !== '') {
    yield* history.add({ type: 'message', role: 'system', content: instructions });
  }
  const items =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : objectsOf(input);
  for (const item of items) {
    yield* history.add(item);
    if (isStepOver()) {
      yield undefined;
    }
  }
  return history.end();
}

type Message = Record<string, unknown>;

/**
 * Builds chat messages from items. Responses has separate items where chat puts an assistant's reasoning, text and calls into one
 * message, and consecutive instructions into one as well.
 */
class ChatHistory {
  readonly #tools: OfferedTools;
  readonly #ignored: IgnoredMembers;
  readonly #messages: Message[] = [];
  /** The assistant message being built. */
  #turn: Message | undefined;
  /** Lists of that message by member name. They grow in place: copying them for each of thousands of items would take minutes. */
  readonly #lists = new Map<string, JsonObject[]>();
  /** Parts of the last instructions message, once several were merged into it. */
  #instructions: JsonObject[] | undefined;
  /** Images of tool results. Chat accepts images only from users, and only after all results of the turn. */
  #shown: JsonObject[] = [];

  constructor(tools: OfferedTools, ignored: IgnoredMembers) {
    this.#tools = tools;
    this.#ignored = ignored;
  }

  *add(item: JsonObject): Steps<void> {
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call':
        this.#append('tool_calls', [this.#tools.chatCall(item)]);
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        yield* this.#addResult(item);
        break;
      case 'reasoning':
        this.#addReasoning(item);
        break;
      default:
        yield* this.#addMessage(item);
    }
  }

  end(): JsonObject[] {
    this.#closeTurn();
    this.#showImages();
    return this.#messages;
  }

  *#addMessage(item: JsonObject): Steps<void> {
    const content =
      typeof item.content === 'string' ? item.content : yield* mapInSteps(objectsOf(item.content), chatPart);
    if (item.role === 'assistant') {
      this.#append('content', typeof content === 'string' ? [{ type: 'text', text: content }] : content);
      return;
    }
    this.#closeTurn();
    this.#showImages();
    const last = this.#messages.at(-1);
    const instructs = isSystemTurn(item);
    // the templates of some models support only one system message
    if (instructs && last && isSystemTurn(last)) {
      this.#instructions ??= addTo([], partsOf(last.content));
      last.content = addTo(this.#instructions, partsOf(content));
      return;
    }
    this.#instructions = undefined;
    this.#messages.push({ role: item.role, content: plainIfPossible(content) });
  }

  #addReasoning(item: JsonObject): void {
    const opened = openReasoning(textOf(item.encrypted_content));
    if (!opened) {
      if (textOf(item.encrypted_content) !== '') {
        this.#ignored.add('input[].encrypted_content');
      }
      return;
    }
    // reasoning precedes what it led to: after tool calls it starts the next turn of the model
    if (this.#turn?.tool_calls !== undefined) {
      this.#closeTurn();
    }
    this.#turn ??= { role: 'assistant', content: null };
    for (const [name, value] of Object.entries(opened)) {
      if (typeof value === 'string') {
        this.#turn[name] = textOf(this.#turn[name]) + value;
      } else {
        this.#addToTurn(name, objectsOf(value));
      }
    }
  }

  *#addResult(item: JsonObject): Steps<void> {
    this.#closeTurn();
    const { output } = item;
    const parts = typeof output === 'string' ? [] : yield* mapInSteps(objectsOf(output), chatPart);
    const told = parts.filter((part) => part.type === 'text');
    this.#shown.push(...parts.filter((part) => part.type !== 'text'));
    const content = typeof output === 'string' ? output : told.map((part) => textOf(part.text)).join('\n');
    this.#messages.push({ role: 'tool', tool_call_id: providerToolId(item.call_id).id, content });
  }

  #append(member: 'content' | 'tool_calls', more: readonly JsonObject[]): void {
    this.#showImages();
    this.#turn ??= { role: 'assistant', content: null };
    this.#addToTurn(member, more);
  }

  #addToTurn(member: string, more: readonly JsonObject[]): void {
    const turn = this.#turn;
    if (turn) {
      const list = this.#lists.get(member) ?? [];
      this.#lists.set(member, list);
      turn[member] = addTo(list, more);
    }
  }

  #closeTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    this.#lists.clear();
    if (turn) {
      const content = objectsOf(turn.content);
      this.#messages.push({ ...turn, content: content.length === 0 ? null : plainIfPossible(content) });
    }
  }

  #showImages(): void {
    if (this.#shown.length > 0) {
      this.#messages.push({ role: 'user', content: this.#shown });
      this.#shown = [];
    }
  }
}

function addTo(list: JsonObject[], more: readonly JsonObject[]): JsonObject[] {
  for (const one of more) {
    list.push(one);
  }
  return list;
}

function partsOf(content: unknown): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
}

/** Returns a single text part as a plain string, because small servers support only string content. */
function plainIfPossible(content: unknown): unknown {
  const [only, second] = Array.isArray(content) ? content : [];
  return second === undefined && isObject(only) && only.type === 'text' ? only.text : content;
}

function chatPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'input_image':
      requireInline(part, part.image_url);
      return { type: 'image_url', image_url: compact({ url: part.image_url, detail: part.detail }) };
    case 'input_file':
      requireInline(part, part.file_data);
      return { type: 'file', file: compact({ filename: part.filename, file_data: part.file_data }) };
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal };
    case 'input_audio':
      return part;
    default:
      return { type: 'text', text: textOf(part.text) };
  }
}

/** Requires inline content. We store no files, so an item that only references one cannot be shown to a model. */
function requireInline(part: JsonObject, value: unknown): void {
  if (textOf(value) === '') {
    const wanted =
      part.type === 'input_image' ? 'image_url (a URL or a data: URL)' : 'file_data (a data: URL)';
    throw new AppError(
      'unsupported_input',
      `${textOf(part.type)}: files are not stored here; send ${wanted}`,
    );
  }
}

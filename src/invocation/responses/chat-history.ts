import type { IgnoredMembers } from '../../http/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { compact, isObject, type JsonObject, objectsOf, textOf } from '../../providers/json.ts';
import type { OfferedTools } from './offered-tools.ts';
import { openReasoning } from './sealed-reasoning.ts';

/** The messages of chat that say what a Responses request's `instructions` and `input` say. */
export function chatHistory(
  instructions: unknown,
  input: unknown,
  tools: OfferedTools,
  ignored: IgnoredMembers,
): JsonObject[] {
  const history = new ChatHistory(tools, ignored);
  if (textOf(instructions) !== '') {
    history.add({ type: 'message', role: 'system', content: instructions });
  }
  const items =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : objectsOf(input);
  for (const item of items) {
    history.add(item);
  }
  return history.end();
}

type Message = Record<string, unknown>;

/** Items stand alone; in chat an assistant's thoughts, words and calls are one message, and so are instructions in a row. */
class ChatHistory {
  readonly #tools: OfferedTools;
  readonly #ignored: IgnoredMembers;
  readonly #messages: Message[] = [];
  /** The assistant's message that is being put together. */
  #turn: Message | undefined;
  /** Images of results, which chat takes only from users, and only after all results of the turn. */
  #shown: JsonObject[] = [];

  constructor(tools: OfferedTools, ignored: IgnoredMembers) {
    this.#tools = tools;
    this.#ignored = ignored;
  }

  add(item: JsonObject): void {
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call':
        this.#append('tool_calls', [this.#tools.chatCall(item)]);
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#addResult(item);
        break;
      case 'reasoning':
        this.#addReasoning(item);
        break;
      default:
        this.#addMessage(item);
    }
  }

  end(): JsonObject[] {
    this.#closeTurn();
    this.#showImages();
    return this.#messages;
  }

  #addMessage(item: JsonObject): void {
    const content = typeof item.content === 'string' ? item.content : objectsOf(item.content).map(chatPart);
    if (item.role === 'assistant') {
      this.#append('content', typeof content === 'string' ? [{ type: 'text', text: content }] : content);
      return;
    }
    this.#closeTurn();
    this.#showImages();
    const last = this.#messages.at(-1);
    const instructs = item.role === 'system' || item.role === 'developer';
    // templates of some models know one system message only
    if (instructs && last && (last.role === 'system' || last.role === 'developer')) {
      last.content = [...partsOf(last.content), ...partsOf(content)];
      return;
    }
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
    // thoughts come before what was thought about: behind calls they begin the next turn of the model
    if (this.#turn?.tool_calls !== undefined) {
      this.#closeTurn();
    }
    this.#turn ??= { role: 'assistant', content: null };
    for (const [name, value] of Object.entries(opened)) {
      const earlier = this.#turn[name];
      this.#turn[name] =
        typeof value === 'string' ? textOf(earlier) + value : [...objectsOf(earlier), ...objectsOf(value)];
    }
  }

  #addResult(item: JsonObject): void {
    this.#closeTurn();
    const { output } = item;
    const parts = typeof output === 'string' ? [] : objectsOf(output).map(chatPart);
    const told = parts.filter((part) => part.type === 'text');
    this.#shown.push(...parts.filter((part) => part.type !== 'text'));
    const content = typeof output === 'string' ? output : told.map((part) => textOf(part.text)).join('\n');
    this.#messages.push({ role: 'tool', tool_call_id: item.call_id, content });
  }

  #append(member: 'content' | 'tool_calls', more: readonly JsonObject[]): void {
    this.#showImages();
    this.#turn ??= { role: 'assistant', content: null };
    this.#turn[member] = [...objectsOf(this.#turn[member]), ...more];
  }

  #closeTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
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

function partsOf(content: unknown): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content);
}

/** Small servers know only string content. */
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

/** Files live nowhere here: an item that only names one cannot be shown to a model. */
function requireInline(part: JsonObject, value: unknown): void {
  if (textOf(value) === '') {
    const wanted =
      part.type === 'input_image' ? 'image_url (a URL or a data: URL)' : 'file_data (a data: URL)';
    throw new AppError('unsupported_input', `${textOf(part.type)}: files are not kept here; send ${wanted}`);
  }
}

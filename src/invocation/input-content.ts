import { jsonTextInSteps } from '../lib/json-text.ts';
import { isStepOver, type Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectsOf, textOf } from '../providers/json.ts';
import {
  type Collected,
  collectBytes,
  collectInline,
  collectItem,
  collectOther,
  fileById,
  type INLINE_MAX,
  type ItemKind,
  itemKindOf,
} from './input-media.ts';
import { clearedBlocks, collectThought, moveToThoughts } from './input-thoughts.ts';

/** The content of a request, sorted by how it becomes tokens. Together the fields cover all of it: nothing is free. */
export interface InputContent {
  /** Text that any model reads as it was sent: texts, names, tool calls. */
  readonly text: string;
  /** Definitions of tools and answer formats. Providers write them out in their own forms, some of them much shorter. */
  readonly definitions: string;
  /**
   * The model's earlier reasoning, once per message, and tool results that the request asks to clear. Some providers read them again and
   * bill them, some drop them.
   */
  readonly thoughts: string;
  /** Everything else that is sent: ids, signatures, repeated reasoning, settings. Some templates write it out, some drop it. */
  readonly otherText: string;
  readonly messages: number;
  /** Number of input tokens in inputs that were sent as tokens instead of text. */
  readonly tokens: number;
  /** Number of parts, calls and definitions in the messages and tools. A few tokens frame each of them. */
  readonly parts: number;
  /** Number of inputs other than text, inline or by URL. */
  readonly items: Readonly<Record<ItemKind, number>>;
  /** URLs that the provider has to fetch. */
  readonly links: readonly string[];
  /** The first inline images and files, in base64. */
  readonly inline: Readonly<Record<keyof typeof INLINE_MAX, readonly string[]>>;
  readonly hasTools: boolean;
}

/** Returns whether a top-level value is a number, a boolean or null: these never reach the model's text. */
function isSetting(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined;
}

/**
 * Splits an outgoing request of any dialect into its content. Every string, and the name of every member that is not part of the
 * protocol, ends up in `text`, `definitions`, `thoughts` or `otherText`; bytes of images and the like count by item. Throws AppError
 * unsupported_input for a file that is given by its id.
 */
export function* inputContent(body: JsonObject): Steps<InputContent> {
  const items = { image: 0, file: 0, audio: 0, video: 0 };
  const inline = { image: [], file: [] };
  const into: Collected = {
    texts: [],
    definitions: [],
    thoughts: [],
    others: [],
    parts: 0,
    items,
    links: [],
    inline,
    cleared: clearedBlocks(body.context_management),
  };
  for (const name of Object.keys(body)) {
    const value = body[name];
    switch (name) {
      case 'messages':
      case 'input':
        yield* collectMessages(value, into);
        break;
      case 'instructions':
      case 'system':
        yield* collectContent(value, into);
        break;
      case 'tools':
        yield* collectDefinitions(value, into);
        break;
      case 'response_format':
      case 'output_config':
      case 'output_format':
      case 'text':
        into.definitions.push(yield* jsonTextInSteps(value));
        break;
      default:
        yield* collectSetting(name, value, into);
    }
  }
  yield undefined;
  return {
    text: into.texts.join('\n'),
    definitions: into.definitions.join('\n'),
    thoughts: into.thoughts.join('\n'),
    otherText: into.others.join('\n'),
    messages: messagesOf(body),
    tokens: 0,
    parts: into.parts,
    items,
    links: into.links,
    inline,
    hasTools: objectsOf(body.tools).length > 0,
  };
}

/** Returns the length of everything that is spelled out as text, in UTF-16 units. */
export function spelledLength({ text, definitions, thoughts, otherText }: InputContent): number {
  return text.length + definitions.length + thoughts.length + otherText.length;
}

/** Counts items of the Responses dialect as messages. */
function messagesOf({ messages, input }: JsonObject): number {
  return typeof input === 'string' ? 1 : objectsOf(messages ?? input).length;
}

function* collectDefinitions(value: unknown, into: Collected): Steps<void> {
  if (Array.isArray(value) && value.length > 0) {
    into.definitions.push(yield* jsonTextInSteps(value));
    into.parts += value.length;
  }
}

function* collectSetting(name: string, value: unknown, into: Collected): Steps<void> {
  if (typeof value === 'string') {
    into.others.push(value);
  } else if (!isSetting(value)) {
    into.others.push(`${name}:${yield* jsonTextInSteps(value)}`);
  }
}

function* collectMessages(value: unknown, into: Collected): Steps<void> {
  if (typeof value === 'string') {
    into.texts.push(value);
  }
  for (const message of Array.isArray(value) ? value : []) {
    if (isObject(message)) {
      yield* collectMessage(message, into);
    } else {
      into.texts.push(JSON.stringify(message) ?? '');
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
}

function* collectMessage(message: JsonObject, into: Collected): Steps<void> {
  const thought = collectThought(message, into);
  for (const name of Object.keys(message)) {
    const value = message[name];
    if (name === thought) {
      continue;
    }
    switch (name) {
      case 'content':
      case 'output':
        yield* collectContent(value, into);
        break;
      case 'tool_calls':
        yield* collectCalls(value, into);
        break;
      case 'name':
      case 'refusal':
      case 'arguments':
      case 'input':
        into.texts.push(textOf(value));
        break;
      default:
        collectOther(name, value, into);
    }
  }
}

function* collectCalls(value: unknown, into: Collected): Steps<void> {
  for (const call of objectsOf(value)) {
    into.parts += 1;
    for (const name of Object.keys(call)) {
      const member = call[name];
      if ((name === 'function' || name === 'custom') && isObject(member)) {
        into.texts.push(...Object.values(member).map((part) => plainText(part)));
      } else {
        collectOther(name, member, into);
      }
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function* collectContent(value: unknown, into: Collected): Steps<void> {
  if (typeof value === 'string') {
    into.texts.push(value);
    return;
  }
  if (!Array.isArray(value) && value !== null && value !== undefined) {
    into.texts.push(JSON.stringify(value));
  }
  for (const part of Array.isArray(value) ? value : []) {
    if (isObject(part)) {
      into.parts += 1;
      yield* collectPart(part, into);
    } else {
      into.texts.push(JSON.stringify(part) ?? '');
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
}

/** Collects the members of a part; its `type` tells which member holds text and which holds an item. */
function* collectPart(part: JsonObject, into: Collected): Steps<void> {
  const { type } = part;
  for (const name of Object.keys(part)) {
    const value = part[name];
    const item = itemKindOf(type, name);
    if (item) {
      collectItem(value, item, into, part.filename);
    } else if (name === 'text' || name === 'refusal' || name === 'title' || name === 'context') {
      into.texts.push(plainText(value));
    } else if (name === 'content') {
      const before = into.texts.length;
      yield* collectContent(value, into);
      moveToThoughts(type, before, into);
    } else if ((type === 'thinking' || type === 'reasoning') && name === type) {
      into.thoughts.push(plainText(value));
    } else if (type === 'tool_use' && (name === 'name' || name === 'input')) {
      const before = into.texts.length;
      into.texts.push(plainText(value));
      moveToThoughts(type, before, into);
    } else if (name === 'source' && isObject(value)) {
      yield* collectSource(value, type === 'image' ? 'image' : 'file', into);
    } else {
      collectOther(name, value, into);
    }
  }
}

/** Collects the `source` of a messages block. */
function* collectSource(source: JsonObject, kind: ItemKind, into: Collected): Steps<void> {
  const { type } = source;
  if (source.file_id !== undefined || type === 'file') {
    throw fileById();
  }
  if (type === 'text') {
    into.texts.push(plainText(source.data));
    return;
  }
  if (type === 'content') {
    yield* collectContent(source.content, into);
    return;
  }
  into.items[kind] += 1;
  for (const name of Object.keys(source)) {
    if (name === 'data' && type === 'base64') {
      collectInline(textOf(source[name]), kind, into, { type: source.media_type });
    } else if (name === 'url') {
      collectBytes(textOf(source[name]), true, kind, into);
    } else {
      collectOther(name, source[name], into);
    }
  }
}

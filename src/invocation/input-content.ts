import { AppError } from '../lib/errors.ts';
import { jsonTextInSteps } from '../lib/json-text.ts';
import { isStepOver, type Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../providers/json.ts';

/** What an input can be besides text. */
export const ITEM_KINDS = ['image', 'file', 'audio', 'video'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** What a request holds, sorted by how it becomes tokens. Together the parts are all of it: nothing weighs nothing. */
export interface InputContent {
  /** What any model reads as it was sent: texts, names, tool calls. */
  readonly text: string;
  /** Definitions of tools and of answers; providers write them out in forms of their own, some much shorter. */
  readonly definitions: string;
  /** What else leaves: ids, signatures, earlier thoughts, settings. Some templates write it out, some drop it. */
  readonly otherText: string;
  readonly messages: number;
  /** Input that came as tokens, counted. */
  readonly tokens: number;
  /** Parts, calls and definitions inside the messages and tools: each is framed by a few tokens. */
  readonly parts: number;
  /** Inputs that are no text, inline or by URL. */
  readonly items: Readonly<Record<ItemKind, number>>;
  /** Where the provider is to fetch the others. */
  readonly links: readonly string[];
  /** The bytes of the first images and files that came inline, in base64. */
  readonly inline: Readonly<Record<keyof typeof INLINE_MAX, readonly string[]>>;
  readonly hasTools: boolean;
}

/** So many of a request are looked at; the others may be as large as the model takes them. */
const INLINE_MAX = { image: 64, file: 16 } as const;

interface Collected {
  readonly texts: string[];
  readonly definitions: string[];
  readonly others: string[];
  parts: number;
  readonly items: Record<ItemKind, number>;
  readonly links: string[];
  readonly inline: Record<keyof typeof INLINE_MAX, string[]>;
}

/** Members whose value is the structure itself, when it is one of the words that structure knows. */
const STRUCTURE = new Set(['role', 'type', 'detail', 'media_type', 'format']);
const STRUCTURE_WORD_MAX = 32;

/** Numbers and switches of the request as a whole never reach the model's text. */
function isSetting(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined;
}

/**
 * Takes an outgoing request of either dialect apart. Every string of it, and the name of every member that is not part of
 * the protocol, stands in `text` or `otherText`; bytes of images and the like count by item. Throws AppError
 * unsupported_input for a file that is named by its id.
 */
export function* inputContent(body: JsonObject): Steps<InputContent> {
  const items = { image: 0, file: 0, audio: 0, video: 0 };
  const inline = { image: [], file: [] };
  const into: Collected = { texts: [], definitions: [], others: [], parts: 0, items, links: [], inline };
  for (const name of Object.keys(body)) {
    const value = body[name];
    switch (name) {
      case 'messages':
        yield* collectMessages(value, into);
        break;
      case 'system':
        yield* collectContent(value, into);
        break;
      case 'tools':
        yield* collectDefinitions(value, into);
        break;
      case 'response_format':
      case 'output_config':
      case 'output_format':
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
    otherText: into.others.join('\n'),
    messages: objectsOf(body.messages).length,
    tokens: 0,
    parts: into.parts,
    items,
    links: into.links,
    inline,
    hasTools: objectsOf(body.tools).length > 0,
  };
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
  for (const name of Object.keys(message)) {
    const value = message[name];
    switch (name) {
      case 'content':
        yield* collectContent(value, into);
        break;
      case 'tool_calls':
        yield* collectCalls(value, into);
        break;
      case 'name':
      case 'refusal':
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

/** A member beside the text: structure weighs nothing, an id its letters, anything else itself and its name. */
function collectOther(name: string, value: unknown, into: Collected): void {
  if (value === null || value === undefined || (name === 'cache_control' && isPlainMark(value))) {
    return;
  }
  if (typeof value === 'string') {
    if (!STRUCTURE.has(name) || value.length > STRUCTURE_WORD_MAX) {
      into.others.push(value);
    }
    return;
  }
  into.others.push(`${name}:${JSON.stringify(value)}`);
}

function isPlainMark(value: unknown): boolean {
  return isObject(value) && value.type === 'ephemeral' && Object.keys(value).length === 1;
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

/** The members of a part by its `type`: where the text of it stands, and where an item. */
function* collectPart(part: JsonObject, into: Collected): Steps<void> {
  const { type } = part;
  for (const name of Object.keys(part)) {
    const value = part[name];
    if (name === 'text' || name === 'refusal' || name === 'title' || name === 'context') {
      into.texts.push(plainText(value));
    } else if (name === 'content') {
      yield* collectContent(value, into);
    } else if (type === 'tool_use' && (name === 'name' || name === 'input')) {
      into.texts.push(plainText(value));
    } else if (name === 'source' && isObject(value)) {
      yield* collectSource(value, type === 'image' ? 'image' : 'file', into);
    } else if (name === type && name in MEDIA_PARTS) {
      collectItem(value, MEDIA_PARTS[name as keyof typeof MEDIA_PARTS], into);
    } else {
      collectOther(name, value, into);
    }
  }
}

const MEDIA_PARTS = { image_url: 'image', input_audio: 'audio', file: 'file', video_url: 'video' } as const;

/** Chat's media: the bytes or the URL of one item, and words about it. */
function collectItem(value: unknown, kind: ItemKind, into: Collected): void {
  into.items[kind] += 1;
  if (typeof value === 'string') {
    collectBytes(value, true, kind, into);
    return;
  }
  for (const [name, member] of Object.entries(objectOf(value))) {
    if (name === 'file_id') {
      throw fileById();
    }
    if (typeof member === 'string' && (name === 'url' || name === 'file_data' || name === 'data')) {
      collectBytes(member, name === 'url', kind, into);
    } else {
      collectOther(name, member, into);
    }
  }
}

const DATA_URL = /^data:[^,]{0,128};base64,/;
const BASE64 = /^[A-Za-z0-9+/=_-]*$/;

/** The bytes of an item are the item itself; anything else, a URL too, is sent as it is and may be written out. */
function collectBytes(value: string, isUrl: boolean, kind: ItemKind, into: Collected): void {
  const prefix = DATA_URL.exec(value.slice(0, 256))?.[0];
  if (prefix === undefined && (isUrl || !BASE64.test(value.slice(0, 1_024)))) {
    into.others.push(value);
    into.links.push(value);
  } else {
    collectInline(value.slice(prefix?.length ?? 0), kind, into);
  }
}

function collectInline(base64: string, kind: ItemKind, into: Collected): void {
  if ((kind === 'image' || kind === 'file') && into.inline[kind].length < INLINE_MAX[kind]) {
    into.inline[kind].push(base64);
  }
}

/** The `source` of a messages block. */
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
      collectInline(textOf(source[name]), kind, into);
    } else if (name === 'url') {
      collectBytes(textOf(source[name]), true, kind, into);
    } else {
      collectOther(name, source[name], into);
    }
  }
}

function fileById(): AppError {
  return new AppError('unsupported_input', 'files by their id are not offered here: send the file itself');
}

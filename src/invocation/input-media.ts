import { AppError } from '../lib/errors.ts';
import { isObject, objectOf } from '../providers/json.ts';

/** What an input can be besides text. */
export const ITEM_KINDS = ['image', 'file', 'audio', 'video'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** So many of a request are looked at; the others may be as large as the model takes them. */
export const INLINE_MAX = { image: 64, file: 16 } as const;

/** What was taken out of a request so far. */
export interface Collected {
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

/** A member beside the text: structure weighs nothing, an id its letters, anything else itself and its name. */
export function collectOther(name: string, value: unknown, into: Collected): void {
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

/** Where a part of each type holds bytes or a URL: chat's parts in a member of their own name, those of Responses in another. */
const MEDIA_PARTS: Readonly<Record<string, { readonly member: string; readonly kind: ItemKind }>> = {
  image_url: { member: 'image_url', kind: 'image' },
  input_audio: { member: 'input_audio', kind: 'audio' },
  file: { member: 'file', kind: 'file' },
  video_url: { member: 'video_url', kind: 'video' },
  input_image: { member: 'image_url', kind: 'image' },
  input_file: { member: 'file_data', kind: 'file' },
};

/** What kind of item stands in the member of a part of a type; undefined: none. */
export function itemKindOf(type: unknown, member: string): ItemKind | undefined {
  const media = typeof type === 'string' && Object.hasOwn(MEDIA_PARTS, type) ? MEDIA_PARTS[type] : undefined;
  return media?.member === member ? media.kind : undefined;
}

/** One item: the bytes or the URL of it, and words about it. */
export function collectItem(value: unknown, kind: ItemKind, into: Collected): void {
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
export function collectBytes(value: string, isUrl: boolean, kind: ItemKind, into: Collected): void {
  const prefix = DATA_URL.exec(value.slice(0, 256))?.[0];
  if (prefix === undefined && (isUrl || !BASE64.test(value.slice(0, 1_024)))) {
    into.others.push(value);
    into.links.push(value);
  } else {
    collectInline(value.slice(prefix?.length ?? 0), kind, into);
  }
}

/** Bytes that came inline, in base64. */
export function collectInline(base64: string, kind: ItemKind, into: Collected): void {
  if ((kind === 'image' || kind === 'file') && into.inline[kind].length < INLINE_MAX[kind]) {
    into.inline[kind].push(base64);
  }
}

/** The refusal of a file that is only named. */
export function fileById(): AppError {
  return new AppError('unsupported_input', 'file ids are not supported here: send the file itself');
}

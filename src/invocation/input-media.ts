import { AppError } from '../lib/errors.ts';
import { isObject, objectOf } from '../providers/json.ts';

/** Kinds of input besides text. */
export const ITEM_KINDS = ['image', 'file', 'audio', 'video'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** Most items of a request that are inspected. The others are assumed to have the largest size that the model accepts. */
export const INLINE_MAX = { image: 64, file: 16 } as const;

/** The content collected from a request so far. */
export interface Collected {
  readonly texts: string[];
  readonly definitions: string[];
  readonly thoughts: string[];
  readonly others: string[];
  parts: number;
  readonly items: Record<ItemKind, number>;
  readonly links: string[];
  readonly inline: Record<keyof typeof INLINE_MAX, string[]>;
  /** Types of blocks whose text the provider may clear before the model reads it. */
  readonly cleared: ReadonlySet<unknown>;
}

/** Members whose value is structure rather than text, as long as the value is one of the short words the protocol knows. */
const STRUCTURE = new Set(['role', 'type', 'detail', 'media_type', 'format']);
const STRUCTURE_WORD_MAX = 32;

/** Collects a member besides the text: structure costs nothing, an id costs its letters, anything else costs its value and its name. */
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

/** Which member of a part holds bytes or a URL, by type. In chat the member has the name of the type, in Responses a different one. */
const MEDIA_PARTS: Readonly<Record<string, { readonly member: string; readonly kind: ItemKind }>> = {
  image_url: { member: 'image_url', kind: 'image' },
  input_audio: { member: 'input_audio', kind: 'audio' },
  file: { member: 'file', kind: 'file' },
  video_url: { member: 'video_url', kind: 'video' },
  input_image: { member: 'image_url', kind: 'image' },
  input_file: { member: 'file_data', kind: 'file' },
};

/** Returns the kind of item in this member of a part of this type, or undefined when it holds none. */
export function itemKindOf(type: unknown, member: string): ItemKind | undefined {
  const media = typeof type === 'string' && Object.hasOwn(MEDIA_PARTS, type) ? MEDIA_PARTS[type] : undefined;
  return media?.member === member ? media.kind : undefined;
}

/** Collects one item: its bytes or its URL, and the members that describe it. `filename` is the one beside it. */
export function collectItem(value: unknown, kind: ItemKind, into: Collected, filename?: unknown): void {
  into.items[kind] += 1;
  if (typeof value === 'string') {
    collectBytes(value, true, kind, into, filename);
    return;
  }
  const { filename: own } = objectOf(value);
  for (const [name, member] of Object.entries(objectOf(value))) {
    if (name === 'file_id') {
      throw fileById();
    }
    if (typeof member === 'string' && (name === 'url' || name === 'file_data' || name === 'data')) {
      collectBytes(member, name === 'url', kind, into, own);
    } else {
      collectOther(name, member, into);
    }
  }
}

const DATA_URL = /^data:[^,]{0,128};base64,/;
const BASE64 = /^[A-Za-z0-9+/=_-]*$/;

/**
 * Collects the value of an item. Bytes are the item itself; anything else, including a URL, is sent as it is and may be written out as
 * text.
 */
export function collectBytes(
  value: string,
  isUrl: boolean,
  kind: ItemKind,
  into: Collected,
  filename?: unknown,
): void {
  const prefix = DATA_URL.exec(value.slice(0, 256))?.[0];
  if (prefix === undefined && (isUrl || !BASE64.test(value.slice(0, 1_024)))) {
    into.others.push(value);
    into.links.push(value);
  } else {
    const type = prefix === undefined ? undefined : /^data:([^;,]*)/.exec(prefix)?.[1];
    collectInline(value.slice(prefix?.length ?? 0), kind, into, { type, filename });
  }
}

/** What a request says about inline bytes. */
export interface InlineLabels {
  readonly type?: unknown;
  readonly filename?: unknown;
}

/** Collects inline bytes, in base64. Files count as the largest possible unless they are labeled as PDFs, which can be measured. */
export function collectInline(base64: string, kind: ItemKind, into: Collected, labels: InlineLabels): void {
  const isMeasured = kind === 'image' || (kind === 'file' && isLabeledPdf(labels));
  if (isMeasured && into.inline[kind].length < INLINE_MAX[kind]) {
    into.inline[kind].push(base64);
  }
}

/**
 * Returns whether every label says PDF. Bytes do not decide: providers also read text files, whole, and a text may look like a PDF of one
 * page.
 */
function isLabeledPdf({ type, filename }: InlineLabels): boolean {
  const labels = [
    ...(typeof type === 'string' ? [/^application\/(?:x-)?pdf$/i.test(type)] : []),
    ...(typeof filename === 'string' ? [/\.pdf$/i.test(filename)] : []),
  ];
  return labels.length > 0 && labels.every((isPdf) => isPdf);
}

/** Returns the error for a file that is only given by its id. */
export function fileById(): AppError {
  return new AppError('unsupported_input', 'file ids are not supported here: send the file itself');
}

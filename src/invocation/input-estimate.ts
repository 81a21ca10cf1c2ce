import { AppError } from '../lib/errors.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { sizeInHeader } from '../media/image-file.ts';
import { countsAtOnce, countTokens, countTokensInSteps } from '../providers/token-counter.ts';
import type { InputContent } from './input-content.ts';
import type { InputMargin } from './input-margin.ts';
import { ITEM_KINDS, type ItemKind } from './input-media.ts';
import { countPdfPages } from './pdf-pages.ts';

/** Leading base64 characters that contain the image header, except in large WebP files. */
const HEADER_BASE64 = 262_144;
/** Side of the largest image patch of any model, in pixels. Partial patches count in full. */
const PATCH_SIDE = 32;

/** Tokens that frame one message: typical, and maximum for a message or a part of one (role, separators, a name and its markers). */
const MESSAGE_TOKENS = 4;
const FRAME_TOKENS_MAX = 8;
/** Instructions that providers prepend to a request with tools, in tokens (Anthropic documents up to 530). */
const TOOLS_PREAMBLE_TOKENS = 600;
/** Typical size of an image, in tokens. */
const IMAGE_TOKENS_TYPICAL = 765;

export interface InputEstimate {
  /** The part of `tokens` that is message text. No honest provider reports much less than this. */
  readonly textTokens: number;
  /** Our best count, used for the context check and for charges when the provider reports nothing. */
  readonly tokens: number;
  /** Upper bound on what any of our providers will count, used for the hold. */
  readonly upperBound: number;
  /**
   * Bound used to compute the room for the answer. Leaves out items without a limit, and counts documents for at most half of the
   * remaining context, because their pages seldom take the most.
   */
  readonly knownBound: number;
  readonly images: number;
}

/** An input counted in our tokens, before a provider's margin is added. */
export interface CountedInput {
  /** Tokens of the message texts. */
  readonly textTokens: number;
  /** Our best count, without images. */
  readonly tokens: number;
  /** Tokens of everything spelled out as text, which goes through the provider's tokenizer. */
  readonly spelledTokens: number;
  /** Length of that text, in UTF-16 units. */
  readonly spelledUnits: number;
  /** Most tokens added on top by any tokenizer: markers around messages and parts, scripts spelled in bytes, instructions. */
  readonly framingTokens: number;
  /** The part of `framingTokens` that is due to vocabularies that merge less than ours, see {@link Apart}. */
  readonly unmergedTokens: number;
  readonly items: Readonly<Record<ItemKind, number>>;
  /** Pixel counts of the images whose size is known. */
  readonly imagePixels: readonly number[];
  /** Page counts of the files whose pages could be counted. */
  readonly filePages: readonly number[];
}

export interface EstimateLimits {
  readonly contextLength: number;
  /** Most tokens one item can have, by kind. Undefined means unknown: the item may fill the context. */
  readonly itemTokens: Readonly<Partial<Record<ItemKind, number | undefined>>>;
  /** Image pixels per token. Undefined means that any image may cost the maximum. */
  readonly imagePixelsPerToken?: number | undefined;
  /** Most tokens one page of a PDF can have. Undefined means that any file may cost the maximum. */
  readonly filePageTokens?: number | undefined;
}

/**
 * Counts a request's input; a long text waits for its turn. Throws AppError context_length_exceeded as soon as the text alone certainly
 * exceeds the model's context (tokens), and service_unavailable when no turn came in time.
 */
export async function countInput(
  content: InputContent,
  { contextLength, imagePixelsPerToken, filePageTokens }: Omit<EstimateLimits, 'itemTokens'>,
  inTurn: InTurn,
): Promise<CountedInput> {
  const { text, definitions, otherText, items } = content;
  const textTokens = content.tokens + (await countInTurn(text, contextLength, inTurn));
  if (textTokens >= contextLength) {
    throw contextExceeded(aboutTokens(textTokens, text, definitions), contextLength);
  }
  const readTokens =
    definitions === '' ? textTokens : textTokens + (await countInTurn(definitions, contextLength, inTurn));
  if (readTokens >= contextLength) {
    throw contextExceeded(aboutTokens(readTokens, text, definitions), contextLength);
  }
  const otherTokens = otherText === '' ? 0 : await countInTurn(otherText, contextLength, inTurn);
  const apart = { bytes: 0, unmerged: 0 };
  await lookInTurn(text, apart, inTurn);
  await lookInTurn(definitions, apart, inTurn);
  await lookInTurn(otherText, apart, inTurn);
  const frames = content.messages + content.parts;
  const framingTokens =
    apart.bytes +
    apart.unmerged +
    frames * FRAME_TOKENS_MAX +
    (content.hasTools ? TOOLS_PREAMBLE_TOKENS : 0) +
    MESSAGE_TOKENS;
  return {
    textTokens,
    tokens: readTokens + content.messages * MESSAGE_TOKENS,
    spelledTokens: readTokens + otherTokens,
    spelledUnits: text.length + definitions.length + otherText.length,
    framingTokens,
    unmergedTokens: apart.unmerged,
    items,
    imagePixels: imagePixelsPerToken === undefined ? [] : await imagePixels(content.inline.image),
    filePages: filePageTokens === undefined ? [] : await pagesOf(content.inline.file, inTurn),
  };
}

/** Estimates a counted input for a provider with this margin. */
export function estimateInput(
  counted: CountedInput,
  limits: EstimateLimits,
  margin: InputMargin,
): InputEstimate {
  const { contextLength, itemTokens } = limits;
  const { textTokens, items } = counted;
  const images = knownImages(counted, limits);
  const documents = knownDocuments(counted, limits);
  let bound = Math.ceil(counted.spelledTokens * margin.ratio + margin.tokens) + counted.framingTokens;
  let open = false;
  for (const kind of ITEM_KINDS) {
    const most = itemTokens[kind];
    const known = kind === 'image' ? images.count : kind === 'file' ? documents.count : 0;
    const unknown = items[kind] - known;
    open ||= unknown > 0 && most === undefined;
    bound += unknown * (most ?? 0);
  }
  const apart = Math.min(bound + images.tokens, contextLength);
  // few models merge so little: the hold covers the possibility, but it does not shorten the answer
  const known = Math.min(bound - counted.unmergedTokens + images.tokens, contextLength);
  const halfOfRest = Math.floor((contextLength - known) / 2);
  const tokens = counted.tokens + images.tokens + (items.image - images.count) * IMAGE_TOKENS_TYPICAL;
  return {
    textTokens,
    tokens: Math.min(tokens, contextLength),
    upperBound: open ? contextLength : Math.min(apart + documents.tokens, contextLength),
    knownBound: known + Math.min(documents.tokens, halfOfRest),
    images: items.image,
  };
}

/** Returns the number and tokens of images whose cost is bounded by their size. */
function knownImages(
  { imagePixels }: CountedInput,
  { itemTokens, imagePixelsPerToken }: EstimateLimits,
): { readonly count: number; readonly tokens: number } {
  if (imagePixelsPerToken === undefined) {
    return { count: 0, tokens: 0 };
  }
  const most = itemTokens.image ?? Number.POSITIVE_INFINITY;
  const tokens = imagePixels.map((pixels) => Math.min(Math.ceil(pixels / imagePixelsPerToken), most));
  return { count: tokens.length, tokens: tokens.reduce((sum, one) => sum + one, 0) };
}

/** Returns the number and tokens of files whose cost is bounded by their pages. */
function knownDocuments(
  { filePages }: CountedInput,
  { itemTokens, filePageTokens }: EstimateLimits,
): { readonly count: number; readonly tokens: number } {
  const most = itemTokens.file ?? Number.POSITIVE_INFINITY;
  const tokens = filePages.map((pages) => Math.min(pages * (filePageTokens ?? 0), most));
  return { count: tokens.length, tokens: tokens.reduce((sum, one) => sum + one, 0) };
}

async function pagesOf(files: readonly string[], inTurn: InTurn): Promise<number[]> {
  const pages: number[] = [];
  for (const file of files) {
    const counted = await inTurn(countPdfPages(file));
    if (counted !== undefined) {
      pages.push(counted);
    }
  }
  return pages;
}

/** Combines two estimates into one that bounds both, for a call that either provider may serve. */
export function largerEstimate(one: InputEstimate, other: InputEstimate): InputEstimate {
  return {
    textTokens: Math.min(one.textTokens, other.textTokens),
    tokens: Math.max(one.tokens, other.tokens),
    upperBound: Math.max(one.upperBound, other.upperBound),
    knownBound: Math.max(one.knownBound, other.knownBound),
    images: Math.max(one.images, other.images),
  };
}

/** Returns the error for a request that cannot fit, worded so that agents know to shorten it. Both arguments are in tokens. */
export function contextExceeded(tokens: number, contextLength: number): AppError {
  return new AppError(
    'context_length_exceeded',
    `prompt is too long: ${Math.max(tokens, contextLength + 1)} tokens > ${contextLength} maximum; ` +
      `this model's maximum context length is ${contextLength} tokens`,
  );
}

/** English and code average about this many UTF-16 units per token. */
const UNITS_PER_TOKEN = 4;

/** Estimates tokens from the length of the texts, because counting stops as soon as they are certainly too long. */
function aboutTokens(counted: number, ...texts: readonly string[]): number {
  const units = texts.reduce((sum, text) => sum + text.length, 0);
  return Math.max(counted, Math.ceil(units / UNITS_PER_TOKEN));
}

function countInTurn(text: string, enough: number, inTurn: InTurn): number | Promise<number> {
  return countsAtOnce(text) ? countTokens(text) : inTurn(countTokensInSteps(text, enough));
}

/** Length of text inspected in one step, in UTF-16 units: about 1 ms of work. */
const LOOK_LENGTH = 262_144;

/** What a different vocabulary may count on top of ours, in tokens. */
interface Apart {
  /** Tokens added by vocabularies made for English, which spell other scripts in bytes. */
  bytes: number;
  /**
   * Tokens added by vocabularies that merge less: up to 16 times our count, measured. Ours has one token for three digits, 16 line ends,
   * 128 spaces or 64 equal signs. Others spell every digit (Qwen, Gemma, Llama 2, Mistral) and line end (Llama 2, Mistral), and have one
   * token for 16 spaces or signs and for 4 repeated letters.
   */
  unmerged: number;
}

function lookInTurn(text: string, into: Apart, inTurn: InTurn): void | Promise<void> {
  return text.length <= LOOK_LENGTH ? look(text, 0, into) : inTurn(lookInSteps(text, into));
}

function* lookInSteps(text: string, into: Apart): Generator<undefined, void> {
  for (let start = 0; start < text.length; start += LOOK_LENGTH) {
    look(text, start, into);
    yield undefined;
  }
}

const [OTHER, DIGIT, SPACE, LINE_END, BYTES] = [0, 1, 2, 3, 4];
/** Kinds of the ASCII characters. Tabs count as line ends because vocabularies merge and spell them the same way. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\d/.test(character) ? DIGIT : character === ' ' ? SPACE : /\s/.test(character) ? LINE_END : OTHER;
});
/** Digits that form one token in our vocabulary, and repetitions of a character that form one token in others. */
const DIGITS_MERGED = 3;
const RUN_MERGED = 8;

/** Inspects one step of the text, from `start` on, and adds what it finds. */
function look(text: string, start: number, into: Apart): void {
  const end = Math.min(start + LOOK_LENGTH, text.length);
  let before = -1;
  let kindBefore: number | undefined = OTHER;
  /** Number of preceding characters that are the same as this one or, for a digit, that are digits. */
  let run = 0;
  /** Whether the line before the last line end was blank: our vocabulary merges such lines. */
  let blank = false;
  for (let index = start; index < end; index += 1) {
    const unit = text.charCodeAt(index);
    const kind = unit > 0x7f ? BYTES : KINDS[unit];
    if (kind === BYTES) {
      into.bytes += 1;
    } else if (kind === LINE_END) {
      blank = kindBefore === LINE_END || kindBefore === SPACE;
      into.unmerged += blank ? 1 : 0;
    } else if (kind === SPACE && kindBefore === LINE_END) {
      into.unmerged += blank ? 1 : 0;
    } else if (unit === before || (kind === DIGIT && kindBefore === DIGIT)) {
      run += 1;
      const merged = kind === DIGIT ? run % DIGITS_MERGED !== 0 : run % RUN_MERGED === RUN_MERGED - 1;
      into.unmerged += merged ? 1 : 0;
      before = unit;
      continue;
    }
    run = 0;
    before = unit;
    kindBefore = kind;
  }
}

/**
 * Returns the pixels of inline images (base64), rounded up to whole patches, for each image whose header could be read. Takes a few ms
 * per image, off the event loop.
 */
async function imagePixels(images: readonly string[]): Promise<number[]> {
  const pixels: number[] = [];
  for (const image of images) {
    const size = await sizeInHeader(Buffer.from(image.slice(0, HEADER_BASE64), 'base64'));
    if (size) {
      pixels.push(inPatches(size.width) * inPatches(size.height));
    }
  }
  return pixels;
}

function inPatches(side: number): number {
  return Math.ceil(side / PATCH_SIDE) * PATCH_SIDE;
}

import { AppError } from '../lib/errors.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { sizeInHeader } from '../media/image-file.ts';
import { countsAtOnce, countTokens, countTokensInSteps } from '../providers/token-counter.ts';
import type { InputContent } from './input-content.ts';
import type { InputMargin } from './input-margin.ts';
import { ITEM_KINDS, type ItemKind } from './input-media.ts';
import { countPdfPages } from './pdf-pages.ts';

/** Headers stand in so many of the first characters of base64, but for large WebP files. */
const HEADER_BASE64 = 262_144;
/** Models see images in patches of up to so many pixels a side, begun ones included. */
const PATCH_SIDE = 32;

/** Tokens around one message, and at most around a message or a part of one: role, separators, a name and its marks. */
const MESSAGE_TOKENS = 4;
const FRAME_TOKENS_MAX = 8;
/** Instructions that providers put in front of a request with tools, in tokens (Anthropic documents up to 530). */
const TOOLS_PREAMBLE_TOKENS = 600;
/** What an image usually is, in tokens. */
const IMAGE_TOKENS_TYPICAL = 765;

export interface InputEstimate {
  /** Of `tokens`, the texts of the messages: what no provider can honestly report much less of. */
  readonly textTokens: number;
  /** Our best count, for the context check and for charges when the provider reports nothing. */
  readonly tokens: number;
  /** At least what any of our providers will count, for the hold. */
  readonly upperBound: number;
  /**
   * The bound for the room of the answer: without items that nobody bounded, which may fill what is left of the context, and with
   * documents up to half of what is left, for their pages seldom take the most.
   */
  readonly knownBound: number;
  readonly images: number;
}

/** An input in our tokens, before anything is assumed of who reads it. */
export interface CountedInput {
  /** Texts of the messages. */
  readonly textTokens: number;
  /** Our best count, images aside. */
  readonly tokens: number;
  /** All that is spelled out in letters and goes through the provider's tokenizer. */
  readonly spelledTokens: number;
  /** Its length, in UTF-16 units. */
  readonly spelledUnits: number;
  /** At most what comes on top whatever the tokenizer: marks around messages and parts, scripts spelled in bytes, instructions. */
  readonly framingTokens: number;
  /** Of `framingTokens`, what vocabularies make on top that merge digits, line ends and runs of a character less than ours. */
  readonly unmergedTokens: number;
  readonly items: Readonly<Record<ItemKind, number>>;
  /** Pixels of those images whose size is known. */
  readonly imagePixels: readonly number[];
  /** Pages of those files whose pages could be counted. */
  readonly filePages: readonly number[];
}

export interface EstimateLimits {
  readonly contextLength: number;
  /** Most tokens one item can be, by kind; undefined: nobody said, so it may fill the context. */
  readonly itemTokens: Readonly<Partial<Record<ItemKind, number | undefined>>>;
  /** Pixels of an image for one token of it; undefined: any image may cost the most. */
  readonly imagePixelsPerToken?: number | undefined;
  /** Most tokens one page of a PDF can be; undefined: any file may cost the most. */
  readonly filePageTokens?: number | undefined;
}

/**
 * Counts a request's input, a long text when its turn comes. Throws AppError context_length_exceeded when the text alone is
 * longer than the model's context (tokens), as soon as that is certain, and service_unavailable when no turn came in time.
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

/** What a counted input can be at a provider that makes so much more of it. */
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
  // few models merge so little: that they might is held for, but shortens no answer
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

/** The images whose size bounds what they cost, in tokens. */
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

/** The files whose pages bound what they cost, in tokens. */
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

/** The larger of two estimates in every respect that bounds: for a call that either of two providers may serve. */
export function largerEstimate(one: InputEstimate, other: InputEstimate): InputEstimate {
  return {
    textTokens: Math.min(one.textTokens, other.textTokens),
    tokens: Math.max(one.tokens, other.tokens),
    upperBound: Math.max(one.upperBound, other.upperBound),
    knownBound: Math.max(one.knownBound, other.knownBound),
    images: Math.max(one.images, other.images),
  };
}

/** The refusal of a request that cannot fit, in the words by which agents know that they have to shorten it. Both in tokens. */
export function contextExceeded(tokens: number, contextLength: number): AppError {
  return new AppError(
    'context_length_exceeded',
    `prompt is too long: ${Math.max(tokens, contextLength + 1)} tokens > ${contextLength} maximum; ` +
      `this model's maximum context length is ${contextLength} tokens`,
  );
}

/** English and code have about so many UTF-16 units a token. */
const UNITS_PER_TOKEN = 4;

/** Counting stops where it is certain that a text is too long: how long is then told by its length. */
function aboutTokens(counted: number, ...texts: readonly string[]): number {
  const units = texts.reduce((sum, text) => sum + text.length, 0);
  return Math.max(counted, Math.ceil(units / UNITS_PER_TOKEN));
}

function countInTurn(text: string, enough: number, inTurn: InTurn): number | Promise<number> {
  return countsAtOnce(text) ? countTokens(text) : inTurn(countTokensInSteps(text, enough));
}

/** Looked at in one go, in UTF-16 units: about 1 ms of work. */
const LOOK_LENGTH = 262_144;

/** What a text may be beyond our count of it at a vocabulary that is not ours, in tokens. */
interface Apart {
  /** Vocabularies made for English spell other scripts in bytes. */
  bytes: number;
  /**
   * Ours has one token for three digits, 16 line ends, 128 spaces or 64 equal signs; others spell every digit (Qwen, Gemma, Llama 2,
   * Mistral) and line end (Llama 2, Mistral), and have one for 16 spaces or signs and for 4 letters that repeat. Measured: up to 16
   * times our count.
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
/** Kinds of the ASCII characters; tabs stand with the line ends: they are merged and spelled like them. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\d/.test(character) ? DIGIT : character === ' ' ? SPACE : /\s/.test(character) ? LINE_END : OTHER;
});
/** So many digits are one token of ours, and of a run of one character so many one token of others. */
const DIGITS_MERGED = 3;
const RUN_MERGED = 8;

/** Adds what is looked at in one go, from `start` on. */
function look(text: string, start: number, into: Apart): void {
  const end = Math.min(start + LOOK_LENGTH, text.length);
  let before = -1;
  let kindBefore: number | undefined = OTHER;
  /** Characters before this one that are the same, or digits as this one. */
  let run = 0;
  /** Whether nothing but space stood before the last line end: ours merges such lines. */
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
 * Pixels of inline images (base64), in whole patches, as far as their headers tell: one number for each that could be read. A
 * few ms for each, off the event loop.
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

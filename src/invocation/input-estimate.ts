import { AppError } from '../lib/errors.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import { sizeInHeader } from '../media/image-file.ts';
import { countsAtOnce, countTokens, countTokensInSteps } from '../providers/token-counter.ts';
import { type InputContent, spelledLength } from './input-content.ts';
import type { InputMargin } from './input-margin.ts';
import { ITEM_KINDS, type ItemKind } from './input-media.ts';
import { lookInTurn } from './other-vocabularies.ts';
import { measurePdf, type PdfSize } from './pdf-pages.ts';

/** Leading base64 characters that contain the image header, except in large WebP files. */
const HEADER_BASE64 = 262_144;
/** Side of the largest image patch of any model, in pixels. Partial patches count in full. */
const PATCH_SIDE = 32;

/** Tokens that frame one message: typical, and maximum for a message or a part of one (role, separators, a name and its markers). */
const MESSAGE_TOKENS = 4;
const FRAME_TOKENS_MAX = 8;
/** Instructions that providers prepend to a request with tools, in tokens (Anthropic documents up to 530). */
const TOOLS_PREAMBLE_TOKENS = 600;
/**
 * Typical sizes in tokens, where a model declares none: OpenAI's for a picture of 1024 × 1024, five pages of a document at 2,000, and
 * Gemini's for a minute of sound and half a minute of film.
 */
const TYPICAL_TOKENS: Readonly<Record<ItemKind, number>> = {
  image: 765,
  file: 10_000,
  audio: 1_920,
  video: 9_000,
};

export interface InputEstimate {
  /** The part of `tokens` that is message text. No honest provider reports much less than this. */
  readonly textTokens: number;
  /** What certainly counts, used for the context check. Leaves out what a provider may drop, and items that it may count as little. */
  readonly tokens: number;
  /**
   * Our count of all that was sent, charged when the provider reports nothing. Documents, sound and films count as the most that the
   * model declares: for a client that hangs up before the report, leaving must not be cheaper than staying.
   */
  readonly charged: number;
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
  /** Tokens of the model's earlier reasoning. */
  readonly thoughtTokens: number;
  /** Tokens of everything spelled out as text, which goes through the provider's tokenizer. */
  readonly spelledTokens: number;
  /** Length of that text, in UTF-16 units. */
  readonly spelledUnits: number;
  /** Most tokens added on top by any tokenizer: markers around messages and parts, scripts spelled in bytes, instructions. */
  readonly framingTokens: number;
  /** The part of `framingTokens` that is due to vocabularies that merge less than ours, see Apart in `other-vocabularies.ts`. */
  readonly unmergedTokens: number;
  readonly items: Readonly<Record<ItemKind, number>>;
  /** Pixel counts of the images whose size is known. */
  readonly imagePixels: readonly number[];
  /** Sizes of the files that could be measured. */
  readonly files: readonly PdfSize[];
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
  const { text, definitions, thoughts, otherText, items } = content;
  const textTokens = content.tokens + (await countInTurn(text, contextLength, inTurn));
  if (textTokens >= contextLength) {
    throw contextExceeded(aboutTokens(textTokens, text, definitions), contextLength);
  }
  const readTokens =
    definitions === '' ? textTokens : textTokens + (await countInTurn(definitions, contextLength, inTurn));
  if (readTokens >= contextLength) {
    throw contextExceeded(aboutTokens(readTokens, text, definitions), contextLength);
  }
  const thoughtTokens = thoughts === '' ? 0 : await countInTurn(thoughts, contextLength, inTurn);
  const otherTokens = otherText === '' ? 0 : await countInTurn(otherText, contextLength, inTurn);
  const apart = { bytes: 0, unmerged: 0 };
  await lookInTurn(text, apart, inTurn);
  await lookInTurn(definitions, apart, inTurn);
  await lookInTurn(thoughts, apart, inTurn);
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
    thoughtTokens,
    spelledTokens: readTokens + thoughtTokens + otherTokens,
    spelledUnits: spelledLength(content),
    framingTokens,
    unmergedTokens: apart.unmerged,
    items,
    imagePixels: imagePixelsPerToken === undefined ? [] : await imagePixels(content.inline.image),
    files: filePageTokens === undefined ? [] : await sizesOf(content.inline.file, inTurn),
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
  let charged = counted.tokens + counted.thoughtTokens + images.tokens + documents.tokens;
  let open = false;
  for (const kind of ITEM_KINDS) {
    const most = itemTokens[kind];
    const known = kind === 'image' ? images.count : kind === 'file' ? documents.count : 0;
    const unknown = items[kind] - known;
    open ||= unknown > 0 && most === undefined;
    bound += unknown * (most ?? 0);
    charged += unknown * (most ?? TYPICAL_TOKENS[kind]);
  }
  const apart = Math.min(bound + images.tokens, contextLength);
  // few models merge so little: the hold covers the possibility, but it does not shorten the answer
  const known = Math.min(bound - counted.unmergedTokens + images.tokens, contextLength);
  const halfOfRest = Math.floor((contextLength - known) / 2);
  const tokens = counted.tokens + images.tokens + (items.image - images.count) * TYPICAL_TOKENS.image;
  return {
    textTokens,
    tokens: Math.min(tokens, contextLength),
    charged: Math.min(charged, contextLength),
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

/**
 * Least bytes of a document's text that make a token: what counts one for each letter of two bytes. English has four letters a token, and
 * random letters about two.
 */
const FILE_BYTES_PER_TOKEN = 2;

/** Returns the number and tokens of files whose cost is bounded by their pages and their text, which may be much on few pages. */
function knownDocuments(
  { files }: CountedInput,
  { itemTokens, filePageTokens }: EstimateLimits,
): { readonly count: number; readonly tokens: number } {
  const most = itemTokens.file ?? Number.POSITIVE_INFINITY;
  const tokens = files.map(({ pages, textBytes }) =>
    Math.min(Math.max(pages * (filePageTokens ?? 0), Math.ceil(textBytes / FILE_BYTES_PER_TOKEN)), most),
  );
  return { count: tokens.length, tokens: tokens.reduce((sum, one) => sum + one, 0) };
}

async function sizesOf(files: readonly string[], inTurn: InTurn): Promise<PdfSize[]> {
  const sizes: PdfSize[] = [];
  for (const file of files) {
    const size = await inTurn(measurePdf(file));
    if (size) {
      sizes.push(size);
    }
  }
  return sizes;
}

/** Combines two estimates into one that bounds both, for a call that either provider may serve. */
export function largerEstimate(one: InputEstimate, other: InputEstimate): InputEstimate {
  return {
    textTokens: Math.min(one.textTokens, other.textTokens),
    tokens: Math.max(one.tokens, other.tokens),
    charged: Math.max(one.charged, other.charged),
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

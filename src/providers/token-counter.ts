import { randomBytes } from 'node:crypto';
import {
  countTokens as countWithTokenizer,
  decodeGenerator,
  encode,
  setMergeCacheSize,
} from 'gpt-tokenizer/encoding/o200k_base';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/**
 * The library's own cache stays off: its keys are matches of a regular expression, and V8 keeps the whole text alive behind each
 * match of 13 characters or more. One unseen long word per prompt made the process hold 100,000 complete prompts.
 */
setMergeCacheSize(0);

/** Where o200k cuts a text before it merges bytes: tokens never cross these cuts. Every character belongs to a piece. */
const PIECE = new RegExp(O200K_TOKEN_SPLIT_REGEX.source, O200K_TOKEN_SPLIT_REGEX.flags);

const { imul } = Math;

/** How many pieces' counts are remembered, a power of two. At ten bytes each 655 kB, however much is counted. */
const REMEMBERED_PIECES = 1 << 16;

/**
 * Longest run of one kind (space or non-space) handed to the tokenizer whole, in UTF-16 units. Byte-pair merging is
 * quadratic in the length of a run: 100 kB of one letter takes seconds, in slices of 256 it takes milliseconds and
 * gives the same counts.
 */
const RUN_MAX = 256;

/** Text counted in one go, in UTF-16 units: 1 ms of work, 13 ms where it is rare characters without a space. Others wait for it. */
const SLICE_MAX = 4_096;

/** Text that is counted without asking whether there is time for it, in UTF-16 units: about 0.1 ms of work. */
const AT_ONCE_MAX = 2_048;

/** Whether a UTF-16 unit is white space, as `\s` has it (ECMA-262, WhiteSpace and LineTerminator). */
const IS_SPACE = new Uint8Array(65_536);
for (const space of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') {
  IS_SPACE[space.charCodeAt(0)] = 1;
}
IS_SPACE.fill(1, 0x2000, 0x200b);
const RUNS = /\S+|\s+/g;
/** Matching it makes V8 forget the text that was matched last (`RegExp.lastMatch` and its like hold it whole). */
const NOTHING = /^/;

/** `<|endoftext|>` in a prompt is text somebody typed, not an instruction to us. */
const AS_PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/**
 * Remembers how many tokens a piece has, but not the piece: two fingerprints of 32 bits under a secret seed stand for it. So nothing
 * that was counted can be read in this process's memory, and nobody can choose pieces that are taken for each other; by chance
 * that happens to one new piece in 2^48. A newer piece takes the slot of an older one.
 */
class PieceCounts {
  readonly #seeds = new Int32Array(new Uint8Array(randomBytes(8)).buffer);
  readonly #first = new Int32Array(REMEMBERED_PIECES);
  readonly #second = new Int32Array(REMEMBERED_PIECES);
  readonly #counts = new Uint16Array(REMEMBERED_PIECES);

  /** Tokens of the piece of `text` from `start` up to `end`, in UTF-16 units. */
  count(text: string, start: number, end: number): number {
    let first = this.#seeds[0] ?? 0;
    let second = this.#seeds[1] ?? 0;
    for (let index = start; index < end; index += 1) {
      const unit = text.charCodeAt(index);
      // odd multipliers of xxHash and MurmurHash3; the shifts carry high bits down to where the slot is read
      first = imul(first ^ unit, 0x9e3779b1);
      first ^= first >>> 15;
      second = imul(second ^ unit, 0x85ebca6b);
      second ^= second >>> 13;
    }
    second ^= end - start;
    const slot = first & (REMEMBERED_PIECES - 1);
    const known = this.#counts[slot];
    if (known && this.#first[slot] === first && this.#second[slot] === second) {
      return known;
    }
    // never above RUN_MAX times the bytes of a character, so it fits into 16 bits
    const tokens = countWithTokenizer(text.slice(start, end), AS_PLAIN_TEXT);
    this.#first[slot] = first;
    this.#second[slot] = second;
    this.#counts[slot] = tokens;
    return tokens;
  }
}

const pieceCounts = new PieceCounts();

/** Tokens of a text (o200k_base). Blocks for about 0.02–0.1 ms per kB, whatever the text is made of. */
export function countTokens(text: string): number {
  let total = 0;
  for (const piece of safePieces(text)) {
    let start = 0;
    PIECE.lastIndex = 0;
    while (PIECE.test(piece)) {
      total += pieceCounts.count(piece, start, PIECE.lastIndex);
      start = PIECE.lastIndex;
    }
  }
  NOTHING.test('');
  return total;
}

export interface TokenRun {
  /** The text of each token; joined they are the text. A character made of several tokens stands with its last one. */
  readonly pieces: readonly string[];
  readonly tokens: number;
  /** True when the text had more tokens than were asked for. */
  readonly cut: boolean;
}

/** The first `tokensMax` tokens of a text, one by one. */
export function splitTokens(text: string, tokensMax: number): TokenRun {
  const tokens = safePieces(text).flatMap((piece) => encode(piece, AS_PLAIN_TEXT));
  const kept = tokens.slice(0, tokensMax);
  const pieces = [...decodeGenerator(kept)].filter((piece) => piece !== '');
  NOTHING.test('');
  return { pieces, tokens: kept.length, cut: kept.length < tokens.length };
}

/** Whether a run is longer than `RUN_MAX`. Such a run covers a multiple of it: only there is looked, once left and once right. */
function hasLongRun(text: string): boolean {
  for (let at = RUN_MAX; at < text.length; at += RUN_MAX) {
    const kind = IS_SPACE[text.charCodeAt(at)];
    let start = at;
    while (start > at - RUN_MAX && IS_SPACE[text.charCodeAt(start - 1)] === kind) {
      start -= 1;
    }
    let end = at + 1;
    while (end < text.length && end - start <= RUN_MAX && IS_SPACE[text.charCodeAt(end)] === kind) {
      end += 1;
    }
    if (end - start > RUN_MAX) {
      return true;
    }
  }
  return false;
}

/** The text in pieces that the tokenizer handles in linear time: usually the text itself. */
function safePieces(text: string): readonly string[] {
  if (!hasLongRun(text)) {
    return text === '' ? [] : [text];
  }
  const pieces: string[] = [];
  let pending = '';
  for (const [run] of text.matchAll(RUNS)) {
    if (run.length <= RUN_MAX) {
      pending += run;
      continue;
    }
    pieces.push(pending);
    pending = '';
    for (let start = 0; start < run.length; start += RUN_MAX) {
      pieces.push(run.slice(start, start + RUN_MAX));
    }
  }
  return [...pieces, pending].filter((piece) => piece !== '');
}

/**
 * Like {@link countTokens}, in steps of a few ms for a long text, between which the process can do other things. Stops once the
 * count has passed `enough`.
 */
export function* countTokensInSteps(text: string, enough: number): Generator<undefined, number> {
  let total = 0;
  for (let start = 0; start < text.length && total <= enough; ) {
    const end = sliceEnd(text, start);
    total += countTokens(text.slice(start, end));
    start = end;
    if (start < text.length) {
      yield undefined;
    }
  }
  return total;
}

/** True when counting a text takes no time worth speaking of. */
export function countsAtOnce(text: string): boolean {
  return text.length <= AT_ONCE_MAX;
}

/** Cuts before a space where there is one near, since a token rarely crosses into a new word. */
function sliceEnd(text: string, start: number): number {
  const end = start + SLICE_MAX;
  if (end >= text.length) {
    return text.length;
  }
  const space = text.lastIndexOf(' ', end);
  return space > start + SLICE_MAX / 2 ? space : end;
}

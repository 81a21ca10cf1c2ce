import { randomBytes } from 'node:crypto';
import {
  countTokens as countWithTokenizer,
  decodeGenerator,
  encode,
  setMergeCacheSize,
} from 'gpt-tokenizer/encoding/o200k_base';
import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';

/**
 * The library's own cache stays off: its keys are regular expression matches, and V8 keeps the whole text alive behind each match of 13
 * characters or more. With one new long word per prompt, the process held 100,000 complete prompts.
 */
setMergeCacheSize(0);

/** Matches the pieces into which o200k cuts a text before it merges bytes. Tokens never cross these cuts; every character is in a piece. */
const PIECE = new RegExp(O200K_TOKEN_SPLIT_REGEX.source, O200K_TOKEN_SPLIT_REGEX.flags);

const { imul } = Math;

/** Number of piece counts remembered, a power of two. At ten bytes each, 655 kB, however much is counted. */
const REMEMBERED_PIECES = 1 << 16;

/**
 * Longest run of one kind (space or non-space) passed to the tokenizer in one piece, in UTF-16 units. Byte-pair merging
 * is quadratic in the length of a run: 100 kB of one letter takes seconds; in slices of 256 it takes milliseconds and gives
 * practically the same counts.
 */
const RUN_MAX = 256;

/** Maximum text counted in one go, in UTF-16 units: 1 ms of blocking work, 13 ms for rare characters without a space. */
const SLICE_MAX = 4_096;

/** Maximum text counted at once, without waiting for a turn, in UTF-16 units: about 0.1 ms of work. */
const AT_ONCE_MAX = 2_048;

/** Whether a UTF-16 unit is white space as defined by `\s` (ECMA-262, WhiteSpace and LineTerminator). */
const IS_SPACE = new Uint8Array(65_536);
for (const space of '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff') {
  IS_SPACE[space.charCodeAt(0)] = 1;
}
IS_SPACE.fill(1, 0x2000, 0x200b);
const RUNS = /\S+|\s+/g;
/** Matching this makes V8 release the text matched last (`RegExp.lastMatch` and similar properties keep all of it). */
const NOTHING = /^/;

/** `<|endoftext|>` in a prompt is text that somebody typed, not a control token. */
const AS_PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/**
 * Remembers how many tokens a piece has, but not the piece itself, only two 32-bit fingerprints of it under a secret seed. So counted text
 * cannot be read from this process's memory, and nobody can choose pieces that collide; by chance one new piece in 2^48 does. A newer piece
 * takes the slot of an older one.
 */
class PieceCounts {
  readonly #seeds = new Int32Array(new Uint8Array(randomBytes(8)).buffer);
  readonly #first = new Int32Array(REMEMBERED_PIECES);
  readonly #second = new Int32Array(REMEMBERED_PIECES);
  readonly #counts = new Uint16Array(REMEMBERED_PIECES);

  /** Returns the token count of the piece of `text` from `start` to `end` (exclusive), in UTF-16 units. */
  count(text: string, start: number, end: number): number {
    let first = this.#seeds[0] ?? 0;
    let second = this.#seeds[1] ?? 0;
    for (let index = start; index < end; index += 1) {
      const unit = text.charCodeAt(index);
      // odd multipliers from xxHash and MurmurHash3; the shifts carry high bits down to where the slot is read
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
    // at most RUN_MAX times the bytes of a character, so it fits into 16 bits
    const tokens = countWithTokenizer(text.slice(start, end), AS_PLAIN_TEXT);
    this.#first[slot] = first;
    this.#second[slot] = second;
    this.#counts[slot] = tokens;
    return tokens;
  }
}

const pieceCounts = new PieceCounts();

/** Counts the tokens of a text (o200k_base). Blocks for about 0.02–0.1 ms per kB, whatever the text is. */
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
  /** The text of each token; joined they give the text. A character made of several tokens belongs to the last one. */
  readonly pieces: readonly string[];
  readonly tokens: number;
  /** Whether the text had more tokens than the maximum. */
  readonly cut: boolean;
}

/** Returns the first `tokensMax` tokens of a text, one by one. */
export function splitTokens(text: string, tokensMax: number): TokenRun {
  const tokens = safePieces(text).flatMap((piece) => encode(piece, AS_PLAIN_TEXT));
  const kept = tokens.slice(0, tokensMax);
  const pieces = [...decodeGenerator(kept)].filter((piece) => piece !== '');
  NOTHING.test('');
  return { pieces, tokens: kept.length, cut: kept.length < tokens.length };
}

/** Returns whether a run is longer than `RUN_MAX`. Such a run covers a multiple of it, so it looks left and right of multiples only. */
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

/** Splits a text into pieces that the tokenizer handles in linear time; usually returns the text itself. */
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
 * Like {@link countTokens}, but counts a long text in steps of a few ms, between which the process can do other things. Stops once the
 * count exceeds `enough`.
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

/** Returns whether a text is short enough to count in negligible time. */
export function countsAtOnce(text: string): boolean {
  return text.length <= AT_ONCE_MAX;
}

/** Returns the end of a slice: before a space if there is one nearby, since a token rarely crosses into a new word. */
function sliceEnd(text: string, start: number): number {
  const end = start + SLICE_MAX;
  if (end >= text.length) {
    return text.length;
  }
  const space = text.lastIndexOf(' ', end);
  return space > start + SLICE_MAX / 2 ? space : end;
}

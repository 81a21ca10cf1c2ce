import {
  countTokens as countWithTokenizer,
  decodeGenerator,
  encode,
} from 'gpt-tokenizer/encoding/o200k_base';

/**
 * Longest run of one kind (space or non-space) handed to the tokenizer whole, in UTF-16 units. Byte-pair merging is
 * quadratic in the length of a run: 100 kB of one letter takes seconds, in slices of 256 it takes milliseconds and
 * gives the same counts.
 */
const RUN_MAX = 256;

/** Text counted in one go, in UTF-16 units: about 5–10 ms of work; more would be felt by every other call. */
const SLICE_MAX = 32_768;

/** Text that is counted without asking whether there is time for it, in UTF-16 units: about 0.1 ms of work. */
const AT_ONCE_MAX = 2_048;

const LONG_RUN = /\S{257}|\s{257}/;
const RUNS = /\S+|\s+/g;

/** `<|endoftext|>` in a prompt is text somebody typed, not an instruction to us. */
const AS_PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** Tokens of a text (o200k_base). Blocks for about 0.02–0.1 ms per kB, whatever the text is made of. */
export function countTokens(text: string): number {
  let total = 0;
  for (const piece of safePieces(text)) {
    total += countWithTokenizer(piece, AS_PLAIN_TEXT);
  }
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
  return { pieces, tokens: kept.length, cut: kept.length < tokens.length };
}

/** The text in pieces that the tokenizer handles in linear time: usually the text itself. */
function safePieces(text: string): readonly string[] {
  if (text.length <= RUN_MAX || !LONG_RUN.test(text)) {
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

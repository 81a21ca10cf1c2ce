import type { InTurn } from '../lib/event-loop-queue.ts';

/** Length of text inspected in one step, in UTF-16 units: about 1 ms of work. */
const LOOK_LENGTH = 262_144;

/** What a different vocabulary may count on top of ours, in tokens. */
export interface Apart {
  /** Tokens added by vocabularies made for English, which spell other scripts in bytes. */
  bytes: number;
  /**
   * Tokens added by vocabularies that merge less: up to 16 times our count, measured. Ours has one token for three digits, 16 line ends,
   * 128 spaces or 64 equal signs. Others spell every digit (Qwen, Gemma, Llama 2, Mistral) and line end (Llama 2, Mistral), and have one
   * token for 16 spaces or signs and for 4 repeated letters.
   */
  unmerged: number;
}

/** Adds what other vocabularies may count more for this text; a long one waits for its turn. */
export function lookInTurn(text: string, into: Apart, inTurn: InTurn): void | Promise<void> {
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

import { isObject, parseJson } from './json.ts';
import { ObjectScan } from './object-scan.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Most characters of pieces that each repeat all before them; with their number they grow as its square. */
const REPEATED_MAX = 4_000_000;

/**
 * Puts the arguments of one call together from pieces. Some servers begin with `{}` before the real arguments, repeat all arguments in the
 * last piece, or repeat in each piece all that came before. An exact stream is never changed: what may be either is held until it is
 * certain.
 */
export class CallArguments {
  /** Free text of a custom tool may have any form, so no piece of it means anything else. */
  readonly #isFree: boolean;
  #text = '';
  /** `{}` that came first: the arguments, or nothing yet. */
  #placeholder = '';
  /** The latest of pieces that each begin with all that came before them, and the lengths of all of these. */
  #longest = '';
  #lengths: number[] = [];
  /** Whether the last piece may be the end of an object. */
  #mayEnd = false;
  readonly #scan = new ObjectScan();
  /** How much of the text was scanned for the end of its object. */
  #scanned = 0;
  #hasEnded = false;

  constructor(isFree: boolean) {
    this.#isFree = isFree;
  }

  /** What is certain so far. */
  get text(): string {
    return this.#text;
  }

  get isEmpty(): boolean {
    return this.#text === '' && this.#placeholder === '';
  }

  /** Returns whether the arguments of a function are complete: nothing can continue them. */
  get isWhole(): boolean {
    if (this.#isFree || this.#placeholder !== '') {
      return !this.#isFree;
    }
    return this.#longest === '' ? this.#mayEnd && isWholeObject(this.#text) : isWholeObject(this.#longest);
  }

  /**
   * Returns whether these arguments are over now that those of the next call are `following`: their object has ended, they are free text, or
   * they are still `{}` when the others have begun.
   */
  isOverBefore(following: CallArguments): boolean {
    if (this.#isFree || this.#placeholder !== '') {
      return this.#isFree || following.text !== '';
    }
    // each character once, however often this is asked
    this.#hasEnded ||= this.#scan.endIn(this.#text.slice(this.#scanned)) > 0;
    this.#scanned = this.#text.length;
    return this.#hasEnded;
  }

  /** Returns whether a piece repeats arguments that are complete. */
  isRepeat(piece: string): boolean {
    return (
      beginsObject(piece) && this.isWhole && isSame(piece, this.#placeholder || this.#longest || this.#text)
    );
  }

  /** Adds a piece and returns the text that is certain by now and was not before. */
  add(piece: string): string {
    if (this.#isFree || piece === '') {
      return this.#append(piece);
    }
    if (this.#placeholder !== '') {
      const began = beginsObject(piece) ? '' : this.#placeholder;
      this.#placeholder = '';
      return this.add(began + piece);
    }
    if (this.#longest !== '') {
      return this.#addLonger(piece);
    }
    if (this.#text === '' && isNothing(piece)) {
      this.#placeholder = isEmptyObject(piece) ? piece : '{}';
      return '';
    }
    if (this.isRepeat(piece)) {
      return '';
    }
    if (this.#repeatsAll(piece)) {
      this.#longest = piece;
      this.#lengths = [piece.length];
      return '';
    }
    return this.#append(piece);
  }

  /** Decides on all that is held, because the call ends or something else follows. Returns what is certain now. */
  end(): string {
    const placeholder = this.#placeholder;
    const longest = this.#longest;
    this.#placeholder = '';
    if (longest === '') {
      return this.#append(placeholder);
    }
    const isRepeated =
      isWholeObject(longest) && !(this.#areShort && isWholeObject(this.#text + this.#pieces()));
    const more = isRepeated ? longest.slice(this.#text.length) : this.#pieces();
    this.#longest = '';
    return this.#append(more);
  }

  /** Returns whether these are the arguments of several calls in one text, which nobody can take apart with certainty. */
  get areSeveral(): boolean {
    return !this.#isFree && areSeveralObjects(this.#text);
  }

  #addLonger(piece: string): string {
    if (piece.startsWith(this.#longest)) {
      this.#longest = piece;
      this.#lengths.push(piece.length);
      return '';
    }
    const pieces = this.#pieces();
    this.#longest = '';
    return this.#append(pieces + piece);
  }

  #repeatsAll(piece: string): boolean {
    const sent = this.#text;
    return sent !== '' && piece.length >= sent.length && piece.startsWith(sent) && !this.isWhole;
  }

  get #areShort(): boolean {
    return this.#lengths.reduce((sum, length) => sum + length, 0) < REPEATED_MAX;
  }

  /** Returns the pieces held. Throws {@link ProviderFailure} `malformed` for more than an exact stream would ever repeat. */
  #pieces(): string {
    if (!this.#areShort) {
      throw new ProviderFailure('malformed');
    }
    return this.#lengths.map((length) => this.#longest.slice(0, length)).join('');
  }

  #append(piece: string): string {
    this.#text += piece;
    const end = piece.trimEnd();
    this.#mayEnd = end === '' ? this.#mayEnd : end.endsWith('}');
    return piece;
  }
}

function beginsObject(piece: string): boolean {
  return /^\s*\{/.test(piece);
}

/** Returns whether a piece is no arguments: `{}`, or the `null` that some tool parsers write for a tool without parameters. */
function isNothing(piece: string): boolean {
  return isEmptyObject(piece) || piece.trim() === 'null';
}

function isEmptyObject(piece: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(piece);
}

function isWholeObject(text: string): boolean {
  return isObject(parseJson(text));
}

/** Returns whether two texts are the same object, however they are written. */
function isSame(one: string, other: string): boolean {
  const parsed = parseJson(one);
  return isObject(parsed) && JSON.stringify(parsed) === JSON.stringify(parseJson(other));
}

function areSeveralObjects(text: string): boolean {
  if (parseJson(text) !== undefined) {
    return false;
  }
  let rest = text.trim();
  while (rest !== '') {
    const length = new ObjectScan().endIn(rest);
    if (!isWholeObject(rest.slice(0, length))) {
      return false;
    }
    rest = rest.slice(length).trim();
  }
  return text.trim() !== '';
}

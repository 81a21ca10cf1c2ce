/**
 * Finds the end of a JSON object in text that may arrive in pieces. Reads every character once, however often it is asked: parsing the text
 * anew after every piece would take quadratic time. Does not check that the text is valid JSON.
 */
export class ObjectScan {
  /** How many pieces were read. */
  #read = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #ended = false;

  /** Returns whether the object has ended. `pieces` are all pieces so far. */
  hasEnded(pieces: readonly string[]): boolean {
    for (; !this.#ended && this.#read < pieces.length; this.#read += 1) {
      this.#ended = this.endIn(pieces[this.#read] ?? '') > 0;
    }
    return this.#ended;
  }

  /** Reads the next piece. Returns the length of the part with which the object ends; 0 if it goes on. */
  endIn(piece: string): number {
    for (let place = 0; place < piece.length; place += 1) {
      if (this.#isEnd(piece[place] as string)) {
        return place + 1;
      }
    }
    return 0;
  }

  #isEnd(letter: string): boolean {
    if (this.#escaped) {
      this.#escaped = false;
    } else if (this.#inString) {
      this.#escaped = letter === '\\';
      this.#inString = letter !== '"';
    } else if (letter === '"') {
      this.#inString = true;
    } else if (letter === '{' || letter === '[') {
      this.#depth += 1;
    } else if (letter === '}' || letter === ']') {
      this.#depth -= 1;
      return this.#depth <= 0;
    }
    return false;
  }
}

/**
 * Tells whether text that arrives in pieces contains a whole JSON object by now. Reads every character once, however often it is asked:
 * parsing the text anew after every piece would take quadratic time.
 */
export class ObjectScan {
  /** How many pieces were read. */
  #read = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #ended = false;

  /** Returns whether the object has ended. `pieces` are all pieces so far. Does not check that they form valid JSON. */
  hasEnded(pieces: readonly string[]): boolean {
    for (; !this.#ended && this.#read < pieces.length; this.#read += 1) {
      for (const letter of pieces[this.#read] ?? '') {
        this.#add(letter);
      }
    }
    return this.#ended;
  }

  #add(letter: string): void {
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
      this.#ended ||= this.#depth <= 0;
    }
  }
}

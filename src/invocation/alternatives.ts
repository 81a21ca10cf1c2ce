import type { BilledUnits } from '../catalog/pricing.ts';
import type { ServedModel } from '../ledger/ledger.types.ts';
import type { InputEstimate } from './input-estimate.ts';
import type { InvocableModel } from './invocation.types.ts';

/** One of the models that may answer a call, and what it may write for the money that is held. */
export interface Alternative {
  readonly model: InvocableModel;
  readonly input: InputEstimate;
  readonly units: BilledUnits;
  /** What the provider is told, in tokens. */
  readonly outputTokensMax: number;
  /** True when it is less than the caller asked for, or than the model can where nothing was asked. */
  readonly clamped: boolean;
}

/**
 * How many times its cap an answer may be by our count before its provider is taken for one that ignores caps. Our
 * tokenizer is not the provider's. Whole texts differ by some tenths (measured: numbers by 12 %), but where our
 * vocabulary lacks a script it spells characters in UTF-8 bytes, up to four tokens for what is one elsewhere
 * (RFC 3629 §3: at most four bytes a character).
 */
const CAP_TOLERANCE = 4;

/** The models of a call in the order in which they are asked, and which of them is. */
export class Alternatives {
  readonly #all: readonly [Alternative, ...Alternative[]];
  #asked = 0;

  constructor(first: Alternative, ...fallbacks: readonly Alternative[]) {
    this.#all = [first, ...fallbacks];
  }

  get current(): Alternative {
    return this.#all[this.#asked] ?? this.#all[0];
  }

  get hasNext(): boolean {
    return this.#asked + 1 < this.#all.length;
  }

  /** Goes on with the next one. False when there is none. */
  advance(): boolean {
    const { hasNext } = this;
    this.#asked += hasNext ? 1 : 0;
    return hasNext;
  }

  /** Goes back to one that was asked before: what it used is what counts. */
  returnTo(alternative: Alternative): void {
    this.#asked = Math.max(0, this.#all.indexOf(alternative));
  }

  /** Most output tokens, by our count, before an answer is ended. */
  get outputLimit(): number {
    return this.current.outputTokensMax * CAP_TOLERANCE;
  }

  /** What the settlement says of the model; undefined for the first, which the hold names. */
  get served(): ServedModel | undefined {
    const { id, priceVersion } = this.current.model;
    return this.#asked === 0 ? undefined : { model: id, priceVersion };
  }
}

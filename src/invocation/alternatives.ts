import type { BilledUnits } from '../catalog/pricing.ts';
import type { ServedModel } from '../ledger/ledger.types.ts';
import type { InputEstimate } from './input-estimate.ts';
import type { InvocableModel } from './invocation.types.ts';

/** A model that may answer a call, and how much it may write for the money that is held. */
export interface Alternative {
  readonly model: InvocableModel;
  readonly input: InputEstimate;
  readonly units: BilledUnits;
  /** Output cap sent to the provider, in tokens. */
  readonly outputTokensMax: number;
  /** True when the cap is lower than the caller asked for or, if the caller asked for none, lower than the model allows. */
  readonly clamped: boolean;
}

/**
 * How many times its cap an answer may reach, by our count, before we conclude that the provider ignores caps. Our tokenizer is not the
 * provider's. Whole texts differ by some tenths (measured: numbers by 12 %), but where our vocabulary lacks a script it spells characters
 * in UTF-8 bytes: up to four tokens for what is one elsewhere (RFC 3629 §3: at most four bytes a character).
 */
const CAP_TOLERANCE = 4;

/** The models of a call, in the order they are tried, and the current one. */
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

  /** Moves on to the next model. Returns false when there is none. */
  advance(): boolean {
    const { hasNext } = this;
    this.#asked += hasNext ? 1 : 0;
    return hasNext;
  }

  /** Returns to a model that was tried before, because its usage is what counts. */
  returnTo(alternative: Alternative): void {
    this.#asked = Math.max(0, this.#all.indexOf(alternative));
  }

  /** Output tokens, by our count, after which we cut the answer off. */
  get outputLimit(): number {
    return this.current.outputTokensMax * CAP_TOLERANCE;
  }

  /** The model to record in the settlement. Undefined for the first model, which the hold already names. */
  get served(): ServedModel | undefined {
    const { id, priceVersion } = this.current.model;
    return this.#asked === 0 ? undefined : { model: id, priceVersion };
  }
}

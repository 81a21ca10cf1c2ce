import type { ReportedUsage } from '../lib/usage.ts';
import type { Facts, FinishReason } from '../providers/provider.types.ts';
import { countTokens, countTokensInSteps } from '../providers/token-counter.ts';

/** Pending text, in UTF-16 units, that triggers a count and is then dropped. Bounds memory and the duration of a count. */
const PENDING_MAX = 8_192;
/** Longest text counted in one go, in UTF-16 units. Providers may send megabytes in one event. */
const AT_ONCE_MAX = 16_384;
/** English and code average about this many UTF-16 units per token. */
const UNITS_PER_TOKEN = 4;

/** Counts what was delivered to the customer, part by part. Knows nothing of dialects, money or time. */
export class StreamMeter {
  readonly #text = new RunningCount();
  readonly #reasoning = new RunningCount();
  usage: ReportedUsage | undefined;
  inputUsage: ReportedUsage | undefined;
  finishReason: FinishReason | undefined;
  unknownFinish: string | undefined;

  /** Adds a part that was delivered. */
  add(facts: Facts): void {
    this.#text.add(facts.text);
    this.#reasoning.add(facts.reasoning);
    this.note(facts);
  }

  /** Records what the provider reports in a part, without counting its text as delivered. */
  note(facts: Facts): void {
    this.usage = facts.usage ?? this.usage;
    this.inputUsage = facts.inputUsage ?? this.inputUsage;
    this.finishReason = facts.finishReason ?? this.finishReason;
    this.unknownFinish = facts.unknownFinish ?? this.unknownFinish;
  }

  /** Whether text was added that is too long to count at once. Token counts are estimates until `catchUp` has run. */
  get isBehind(): boolean {
    return this.#text.isBehind || this.#reasoning.isBehind;
  }

  /** Counts the text that is behind, in steps of a few ms. */
  *catchUp(): Generator<undefined, void> {
    yield* this.#text.catchUp();
    yield* this.#reasoning.catchUp();
  }

  /** Length of everything delivered, in UTF-16 units. A token is at least one unit, except in a few scripts. */
  get length(): number {
    return this.#text.length + this.#reasoning.length;
  }

  /** Returns the tokens of the delivered reasoning. */
  reasoningTokens(): number {
    return this.#reasoning.tokens();
  }

  /** Returns the tokens of everything delivered, reasoning included. */
  outputTokens(): number {
    return this.#text.tokens() + this.#reasoning.tokens();
  }
}

/** Token count of text that arrives in pieces. */
class RunningCount {
  #counted = 0;
  #pending = '';
  #tail = 0;
  length = 0;

  add(text: string): void {
    if (text === '') {
      return;
    }
    this.length += text.length;
    this.#pending += text;
    this.#tail = -1;
    if (this.#pending.length > PENDING_MAX && !this.isBehind) {
      // Words rarely share a token with the space after them, so a cut there changes no count.
      const cut = this.#pending.lastIndexOf(' ');
      const end = cut > 0 ? cut : this.#pending.length;
      this.#counted += countTokens(this.#pending.slice(0, end));
      this.#pending = this.#pending.slice(end);
    }
  }

  get isBehind(): boolean {
    return this.#pending.length > AT_ONCE_MAX;
  }

  *catchUp(): Generator<undefined, void> {
    if (this.isBehind) {
      const { length } = this.#pending;
      const tokens = yield* countTokensInSteps(this.#pending, Number.POSITIVE_INFINITY);
      this.#counted += tokens;
      this.#pending = this.#pending.slice(length);
      this.#tail = -1;
    }
  }

  tokens(): number {
    if (this.isBehind) {
      return this.#counted + Math.ceil(this.#pending.length / UNITS_PER_TOKEN);
    }
    if (this.#tail < 0) {
      this.#tail = countTokens(this.#pending);
    }
    return this.#counted + this.#tail;
  }
}

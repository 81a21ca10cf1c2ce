import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { Dialect } from '../providers/provider.types.ts';
import type { CountedInput } from './input-estimate.ts';
import { boundedMargin, type InputMargin, mergedMargin, updatedMargin } from './input-margin.ts';
import type { ModelRoute } from './invocation.types.ts';

/** A provider's model, under the provider's own name. */
export interface UpstreamModel {
  readonly provider: string;
  readonly model: string;
}

export type StoredMargin = UpstreamModel & InputMargin;

/** What a process learned since the last exchange: the values before and after. */
export interface MarginChange extends StoredMargin {
  readonly ratioBefore: number;
  readonly tokensBefore: number;
  readonly reports: number;
}

/** Persistent storage of margins, shared by all processes. */
export interface MarginStore {
  /** Writes what was learned and reads the shared margins. */
  exchange(changes: readonly MarginChange[]): Promise<readonly StoredMargin[]>;
}

interface Known extends UpstreamModel {
  margin: InputMargin;
  /** The margin after the last exchange. */
  shared: InputMargin;
  /** Reports since the last exchange. */
  reports: number;
}

/** Tokens of natural language and code average 3 to 5 UTF-16 units. A higher average means that the text was crafted for our vocabulary. */
const TOKEN_UNITS_MAX = 6;

/**
 * What chat templates, preambles and other vocabularies add to the inputs of each provider's models, learned by comparing the provider's
 * reports with our count. The bounds of calls include it.
 */
export class HiddenOverhead {
  readonly #store: MarginStore;
  readonly #log: Logger;
  /** Bounded by the routes of all catalogs this process has loaded, plus what the store returns. */
  readonly #known = new Map<string, Known>();
  #loop: Loop | undefined;
  #exchange: Promise<void> | undefined;

  constructor(store: MarginStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Exchanges margins with the store now and then every `everyMs` ms until closed. */
  start(everyMs: number): void {
    void this.exchange();
    this.#loop = every(everyMs, () => this.exchange());
  }

  /** Returns what to add to our count of an input for this route. */
  marginOf({ provider, model }: ModelRoute, dialect: Dialect): InputMargin {
    return boundedMargin(this.#known.get(keyOf(provider, model))?.margin, dialect);
  }

  /**
   * Learns from an input we counted and the tokens the provider reported for it. Skips inputs that our vocabulary spells in very long
   * tokens: they are neither language nor code, other vocabularies may split them into any number of tokens, and learning from them would
   * distort the next caller's hold.
   */
  observe(route: ModelRoute, dialect: Dialect, counted: CountedInput, reportedTokens: number): void {
    if (counted.spelledUnits > counted.spelledTokens * TOKEN_UNITS_MAX) {
      return;
    }
    const { provider, model } = route;
    const key = keyOf(provider, model);
    const before = this.marginOf(route, dialect);
    let known = this.#known.get(key);
    if (!known) {
      known = { provider, model, margin: before, shared: before, reports: 0 };
      this.#known.set(key, known);
    }
    known.margin = boundedMargin(updatedMargin(before, counted, reportedTokens), dialect);
    known.reports += 1;
  }

  /** Returns every known margin, learned here or in another process. */
  learnt(): StoredMargin[] {
    return [...this.#known.values()].map(({ provider, model, margin }) => ({ provider, model, ...margin }));
  }

  /** Writes and reads once. Never rejects: changes that could not be written are kept for the next exchange. */
  exchange(): Promise<void> {
    this.#exchange ??= this.#run().finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  /** Writes the remaining changes and stops. */
  async close(): Promise<void> {
    await this.#loop?.close();
    await this.#exchange;
    await this.exchange();
  }

  async #run(): Promise<void> {
    const changes = [...this.#known.values()].filter(({ reports }) => reports > 0).map(changeOf);
    let stored: readonly StoredMargin[];
    try {
      stored = await this.#store.exchange(changes);
    } catch (error) {
      this.#log.warn(
        { error },
        'could not exchange input margins with the database, retrying at the next interval',
      );
      return;
    }
    const sent = new Map(changes.map((change) => [keyOf(change.provider, change.model), change]));
    for (const [key, known] of this.#known) {
      known.reports -= sent.get(key)?.reports ?? 0;
    }
    for (const row of stored) {
      this.#adopt(row, sent.get(keyOf(row.provider, row.model)));
    }
  }

  /** Adopts the shared margin, plus what was learned here while the exchange was in progress. */
  #adopt({ provider, model, ratio, tokens }: StoredMargin, sent: InputMargin | undefined): void {
    const key = keyOf(provider, model);
    const shared = { ratio, tokens };
    const known = this.#known.get(key);
    if (known) {
      known.margin = mergedMargin(shared, sent ?? known.shared, known.margin);
      known.shared = shared;
    } else {
      this.#known.set(key, { provider, model, margin: shared, shared, reports: 0 });
    }
  }
}

function changeOf({ provider, model, margin, shared, reports }: Known): MarginChange {
  const { ratio, tokens } = margin;
  return { provider, model, ratio, tokens, ratioBefore: shared.ratio, tokensBefore: shared.tokens, reports };
}

function keyOf(provider: string, model: string): string {
  return `${provider} ${model}`;
}

import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { Dialect } from '../providers/provider.types.ts';
import type { CountedInput } from './input-estimate.ts';
import { boundedMargin, type InputMargin, learnMargin, mergedMargin } from './input-margin.ts';
import type { ModelRoute } from './invocation.types.ts';

/** A provider's model, by the provider's own name. */
export interface UpstreamModel {
  readonly provider: string;
  readonly model: string;
}

export type StoredMargin = UpstreamModel & InputMargin;

/** What a process learnt since it last asked: where it began and where it is. */
export interface MarginChange extends StoredMargin {
  readonly ratioBefore: number;
  readonly tokensBefore: number;
  readonly reports: number;
}

/** Where margins outlive a process and are shared by all of them. */
export interface MarginStore {
  /** Writes what was learnt and reads what all know. */
  exchange(changes: readonly MarginChange[]): Promise<readonly StoredMargin[]>;
}

interface Known extends UpstreamModel {
  margin: InputMargin;
  /** As it was after the last exchange. */
  shared: InputMargin;
  /** Reports since then. */
  reports: number;
}

/** Tokens of language and code have 3 to 5 UTF-16 units on average; more says that a text was made for our vocabulary. */
const TOKEN_UNITS_MAX = 6;

/**
 * What chat templates, preambles and other vocabularies add to the inputs of each provider's models, learnt from what
 * providers report beside what we counted. Bounds of calls are counted with it.
 */
export class HiddenOverhead {
  readonly #store: MarginStore;
  readonly #log: Logger;
  /** At most the routes of the catalogs of this process's life, and what the store gives. */
  readonly #known = new Map<string, Known>();
  #loop: Loop | undefined;
  #exchange: Promise<void> | undefined;

  constructor(store: MarginStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Exchanges with the store now and every `everyMs` until closed. */
  start(everyMs: number): void {
    void this.exchange();
    this.#loop = every(everyMs, () => this.exchange());
  }

  /** What to add to our count of an input for a route. */
  marginOf({ provider, model }: ModelRoute, dialect: Dialect): InputMargin {
    return boundedMargin(this.#known.get(keyOf(provider, model))?.margin, dialect);
  }

  /**
   * Learns from an input that was counted and that the provider reports as so many tokens. Not from one that our vocabulary has in
   * very long tokens: it is no language or code, other vocabularies may make any number of it, and the next caller's hold is no less true.
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
    known.margin = boundedMargin(learnMargin(before, counted, reportedTokens), dialect);
    known.reports += 1;
  }

  /** Every margin that was learnt here or elsewhere. */
  learnt(): StoredMargin[] {
    return [...this.#known.values()].map(({ provider, model, margin }) => ({ provider, model, ...margin }));
  }

  /** Writes and reads once. Never rejects: what could not be written is kept for the next time. */
  exchange(): Promise<void> {
    this.#exchange ??= this.#run().finally(() => {
      this.#exchange = undefined;
    });
    return this.#exchange;
  }

  /** Writes the rest and stops. */
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
      this.#log.warn({ error }, 'hidden overhead of inputs not exchanged between instances, trying again');
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

  /** Takes what all know, and on top of it what was learnt here while the store was asked. */
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

import { type JsonObject, textOf } from './json.ts';

/** What an event says about the item that it is about. Servers leave out any of it. */
export interface ItemReference {
  readonly type: string;
  /** Its index in the output. */
  readonly place: unknown;
  readonly id: string;
  readonly callId: string;
}

/** An item of the output, and what of it has been passed on. */
export interface SentItem {
  readonly type: string;
  /** Counted from 0, in the order in which items were first heard of. */
  readonly number: number;
  readonly place: unknown;
  id: string;
  callId: string;
  /** What a message is in the turn: `commentary` or `final_answer`. Empty if the provider does not say. */
  phase: string;
  /** The item as it was announced, and whether its end was. */
  announced: JsonObject | undefined;
  isDone: boolean;
  /** Name of a call; empty until it is known. */
  name: string;
  /** What was received of a call's arguments or free text. */
  args: string;
  /** What was passed on of each kind of text (text, refusal, summaries, reasoning), by part. */
  readonly texts: Map<string, Map<unknown, string>>;
  /** The reasoning part passed on last. */
  thought: string | undefined;
  isSealed: boolean;
  /** Keys of the citations passed on. */
  readonly cited: Set<string>;
}

/**
 * Finds the item that an event is about. Exact servers give each item a place and an id. Others number no item or all of them 0, or give
 * each event about an item another id (GitHub Copilot).
 */
export class SentItems {
  readonly #items: SentItem[] = [];
  #recent: { readonly item: SentItem; readonly place: unknown; readonly id: string } | undefined;

  get all(): readonly SentItem[] {
    return this.#items;
  }

  /** Returns the item that an event says something new of, or repeats as a whole. */
  ofPart({ type, place, id }: ItemReference, isWhole: boolean): SentItem {
    const recent = this.#recent;
    if (recent && recent.item.type === type && recent.place === place && recent.id === id) {
      return recent.item;
    }
    const item =
      this.#alike(type, place, (one) => id !== '' && one.id === id) ??
      this.#alike(type, place, (one) =>
        place === undefined ? !one.isDone && (id === '' || one.id === '') : isWhole || !one.isDone,
      ) ??
      this.#begin({ type, place, id, callId: '' });
    this.#recent = { item, place, id };
    return item;
  }

  /** Returns the item that an event announces, or repeats as a whole. */
  ofWhole(reference: ItemReference, isAnnounced: boolean): SentItem {
    const { type, place, id, callId } = reference;
    const item =
      this.#alike(type, place, (one) => callId !== '' && one.callId === callId) ??
      this.#alike(type, place, (one) => id !== '' && one.id === id && !otherCall(one, callId)) ??
      this.#alike(
        type,
        place,
        (one) =>
          !one.isDone &&
          !(isAnnounced && one.announced) &&
          (place !== undefined || ((id === '' || one.id === '') && !otherCall(one, callId))),
      ) ??
      this.#begin(reference);
    item.id ||= id;
    item.callId ||= callId;
    this.#recent = undefined;
    return item;
  }

  /**
   * Returns the item of each of a whole response's items: the one with its id, otherwise at its place, otherwise the next of its type.
   * No two get the same.
   */
  ofOutput(output: readonly JsonObject[]): SentItem[] {
    const free = new Set(this.#items);
    const found = new Map<number, SentItem>();
    const rules: ((one: SentItem, reference: ItemReference, item: JsonObject) => boolean)[] = [
      (one, { id, callId }) =>
        (callId !== '' && one.callId === callId) || (id !== '' && one.id === id && !otherCall(one, callId)),
      (one, reference, item) => one.place === reference.place && mayBe(one, reference, item),
      mayBe,
    ];
    for (const rule of rules) {
      for (const [place, item] of output.entries()) {
        const reference = referenceOf(item, place);
        const match = found.has(place)
          ? undefined
          : [...free].find((one) => one.type === reference.type && rule(one, reference, item));
        if (match) {
          found.set(place, match);
          free.delete(match);
        }
      }
    }
    return output.map((item, place) => found.get(place) ?? this.#begin(referenceOf(item, place)));
  }

  /** Returns the latest item of a type that is as described and whose place does not speak against it. */
  #alike(type: string, place: unknown, test: (item: SentItem) => boolean): SentItem | undefined {
    return this.#items.findLast(
      (item) =>
        item.type === type &&
        (place === undefined || item.place === undefined || item.place === place) &&
        test(item),
    );
  }

  #begin({ type, place, id, callId }: ItemReference): SentItem {
    const item: SentItem = {
      type,
      number: this.#items.length,
      place,
      id,
      callId,
      phase: '',
      announced: undefined,
      isDone: false,
      name: '',
      args: '',
      texts: new Map(),
      thought: undefined,
      isSealed: false,
      cited: new Set(),
    };
    this.#items.push(item);
    return item;
  }
}

/** Returns what an item says about itself. */
export function referenceOf(item: JsonObject, place: unknown): ItemReference {
  return {
    type: textOf(item.type),
    place: place ?? undefined,
    id: textOf(item.id),
    callId: textOf(item.call_id),
  };
}

/** Returns what an event about part of an item of this type says about the item. */
export function referenceIn(event: JsonObject, type: string): ItemReference {
  return { type, place: event.output_index ?? undefined, id: textOf(event.item_id), callId: '' };
}

/** Returns the arguments or the free text of a call as text. Some servers send arguments as an object. */
export function callText(item: JsonObject): string {
  const value = item.type === 'custom_tool_call' ? item.input : item.arguments;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : textOf(value);
}

function otherCall(item: SentItem, callId: string): boolean {
  return callId !== '' && item.callId !== '' && item.callId !== callId;
}

/** Returns whether an item without a common id can be this one: calls with other ids only if nothing else differs. */
function mayBe(one: SentItem, { callId }: ItemReference, item: JsonObject): boolean {
  return !otherCall(one, callId) || (one.name === textOf(item.name) && callText(item).startsWith(one.args));
}

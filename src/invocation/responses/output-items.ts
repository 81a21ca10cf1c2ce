import { type JsonObject, lengthOf, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { type CitedPage, citationKey } from '../dialects/annotations.ts';
import { mergedDetails } from '../dialects/thinking-details.ts';
import { CallItem } from './call-item.ts';
import {
  added,
  done,
  type ItemStatus,
  type OpenItem,
  type OutputOptions,
  type ResponseEvent,
} from './open-item.ts';
import { sealReasoning } from './sealed-content.ts';

/**
 * Builds the output items of a response from exact chat deltas and returns events in the protocol's order: an item is added, its parts
 * arrive and are done, the item is done. Calls stay open to the end, because chat may interleave their pieces.
 */
export class OutputItems {
  readonly #options: OutputOptions;
  readonly #items: OpenItem[] = [];
  readonly #calls = new Map<unknown, CallItem>();
  #open: MessageItem | ReasoningItem | undefined;
  /** Cited pages that no text came for yet, and the keys of all. */
  #uncited: CitedPage[] = [];
  readonly #cited = new Set<string>();

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** The items so far. */
  get items(): JsonObject[] {
    return this.#items.map(({ item }) => item);
  }

  /** Adds a delta, or a whole message as a single delta, and the pages that it cites. */
  add(delta: JsonObject, pages: readonly CitedPage[]): ResponseEvent[] {
    const events: ResponseEvent[] = [];
    const thought = textOf(delta.reasoning_content) || textOf(delta.reasoning);
    const details = objectsOf(delta.reasoning_details);
    if (this.#options.reasoning && (thought !== '' || details.length > 0)) {
      const item = this.#ensure(ReasoningItem, events);
      events.push(...item.add(thought, details));
    }
    for (const { text, phase } of textsOf(delta)) {
      events.push(...this.#ensure(MessageItem, events, phase).add('output_text', text));
    }
    if (textOf(delta.refusal) !== '') {
      events.push(...this.#ensure(MessageItem, events).add('refusal', textOf(delta.refusal)));
    }
    if (pages.length > 0 || this.#uncited.length > 0) {
      events.push(...this.#cite(pages));
    }
    for (const [position, call] of objectsOf(delta.tool_calls).entries()) {
      events.push(...this.#addCall(call.index ?? position, call));
    }
    return events;
  }

  /** Closes all open items. `status` applies to the last item. */
  end(status: ItemStatus): ResponseEvent[] {
    const open = [...(this.#open ? [this.#open] : []), ...this.#calls.values()];
    this.#open = undefined;
    this.#calls.clear();
    const last = this.#items.at(-1);
    return open
      .sort((one, other) => one.index - other.index)
      .flatMap((item) => item.close(item === last ? status : 'completed'));
  }

  #addCall(key: unknown, call: JsonObject): ResponseEvent[] {
    const text = textOf(objectOf(call.function).arguments) + textOf(objectOf(call.custom).input);
    const known = this.#calls.get(key);
    if (known) {
      return known.add(text);
    }
    const events = this.#closeOpen();
    const item = new CallItem(this.#items.length, this.#options, call);
    this.#calls.set(key, item);
    this.#items.push(item);
    events.push(added(item), ...item.add(text));
    return events;
  }

  /** Attaches pages to the latest text. */
  #cite(pages: readonly CitedPage[]): ResponseEvent[] {
    // only new ones are worth measuring the text
    const waiting = [...this.#uncited, ...pages].filter((page) => !this.#cited.has(citationKey(page)));
    if (waiting.length === 0) {
      return [];
    }
    const texts = this.#items.filter((item) => item instanceof MessageItem && item.textLength > 0);
    const last = texts.at(-1) as MessageItem | undefined;
    this.#uncited = last ? [] : waiting;
    const before = texts
      .slice(0, -1)
      .reduce((sum, item) => sum + (item instanceof MessageItem ? item.textLength : 0), 0);
    return waiting.flatMap((page) => {
      if (!last || this.#cited.has(citationKey(page))) {
        return [];
      }
      this.#cited.add(citationKey(page));
      return last.cite(page, before);
    });
  }

  /** Returns the open item of a kind. With a `phase`, and if there is none, a new one. */
  #ensure<T extends MessageItem | ReasoningItem>(
    kind: new (index: number, options: OutputOptions, phase?: string) => T,
    events: ResponseEvent[],
    phase?: string,
  ): T {
    if (this.#open instanceof kind && phase === undefined) {
      return this.#open;
    }
    events.push(...this.#closeOpen());
    const item = new kind(this.#items.length, this.#options, phase);
    this.#open = item;
    this.#items.push(item);
    events.push(added(item));
    return item;
  }

  #closeOpen(): ResponseEvent[] {
    const events = this.#open?.close('completed') ?? [];
    this.#open = undefined;
    return events;
  }
}

/** Divides the content of a delta, or of a whole message, where messages begin that have a phase. */
function textsOf(delta: JsonObject): { text: string; phase?: string }[] {
  const content = textOf(delta.content);
  const begins = objectsOf(delta.phases).map((begin) => ({
    start: Number(begin.start),
    phase: textOf(begin.phase),
  }));
  const before = content.slice(0, begins[0]?.start);
  return [
    ...(before === '' ? [] : [{ text: before }]),
    ...begins.map(({ start, phase }, place) => ({
      text: content.slice(start, begins[place + 1]?.start),
      phase,
    })),
  ].filter(({ text }) => text !== '');
}

type PartKind = 'output_text' | 'refusal';

class MessageItem implements OpenItem {
  readonly index: number;
  readonly #id: string;
  readonly #phase: string | undefined;
  readonly #parts: Part[] = [];
  #status: ItemStatus = 'in_progress';

  constructor(index: number, { ulid }: OutputOptions, phase?: string) {
    this.index = index;
    this.#id = `msg_${ulid}_${index}`;
    this.#phase = phase;
  }

  get item(): JsonObject {
    const content = this.#parts.map(partOf);
    const phase = this.#phase === undefined ? {} : { phase: this.#phase };
    return { id: this.#id, type: 'message', status: this.#status, role: 'assistant', content, ...phase };
  }

  add(kind: PartKind, text: string): ResponseEvent[] {
    const events: ResponseEvent[] = [];
    let part = this.#parts.at(-1);
    if (part?.kind !== kind) {
      events.push(...this.#partDone());
      part = { kind, text: '', annotations: [] };
      this.#parts.push(part);
      events.push({ type: 'response.content_part.added', ...this.#place(), part: partOf(part) });
    }
    part.text += text;
    const type = kind === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta';
    const more = kind === 'refusal' ? {} : { logprobs: [] };
    events.push({ type, ...this.#place(), delta: text, ...more });
    return events;
  }

  /** Length of the text without refusals, in code points. */
  get textLength(): number {
    return this.#parts.reduce(
      (sum, { kind, text }) => sum + (kind === 'output_text' ? lengthOf(text) : 0),
      0,
    );
  }

  /** Attaches a page to the latest text, `before` being the length of the texts before this item, in code points. */
  cite({ url, title, start, end }: CitedPage, before: number): ResponseEvent[] {
    const place = this.#parts.findLastIndex(({ kind }) => kind === 'output_text');
    const part = this.#parts[place];
    if (!part) {
      return [];
    }
    const offset = before + this.textLength - lengthOf(part.text);
    const [start_index, end_index] = [start, end].map((index) => Math.max(0, index - offset));
    const annotation = { type: 'url_citation', start_index, end_index, url, title };
    part.annotations.push(annotation);
    const added = { annotation_index: part.annotations.length - 1, annotation };
    const type = 'response.output_text.annotation.added';
    // what comes after the item was done is in the whole response
    return this.#status === 'in_progress' ? [{ type, ...this.#place(), content_index: place, ...added }] : [];
  }

  close(status: ItemStatus): ResponseEvent[] {
    const events = this.#partDone();
    this.#status = status;
    return [...events, done(this)];
  }

  #place() {
    return { item_id: this.#id, output_index: this.index, content_index: this.#parts.length - 1 };
  }

  #partDone(): ResponseEvent[] {
    const part = this.#parts.at(-1);
    if (!part) {
      return [];
    }
    const { kind, text } = part;
    const whole: ResponseEvent =
      kind === 'refusal'
        ? { type: 'response.refusal.done', ...this.#place(), refusal: text }
        : { type: 'response.output_text.done', ...this.#place(), text, logprobs: [] };
    return [whole, { type: 'response.content_part.done', ...this.#place(), part: partOf(part) }];
  }
}

interface Part {
  readonly kind: PartKind;
  text: string;
  readonly annotations: JsonObject[];
}

function partOf({ kind, text, annotations }: Part): JsonObject {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [...annotations], logprobs: [] };
}

class ReasoningItem implements OpenItem {
  readonly index: number;
  readonly #id: string;
  readonly #sealed: boolean;
  #text = '';
  #details: JsonObject[] = [];
  #closed = false;

  constructor(index: number, { ulid, sealed }: OutputOptions) {
    this.index = index;
    this.#id = `rs_${ulid}_${index}`;
    this.#sealed = sealed;
  }

  get item(): JsonObject {
    const summary = this.#text === '' ? [] : [{ type: 'summary_text', text: this.#text }];
    const sealed = this.#sealed && this.#closed;
    const encrypted_content = sealed ? sealReasoning({ text: this.#text, details: this.#details }) : null;
    return { id: this.#id, type: 'reasoning', summary, encrypted_content };
  }

  add(text: string, details: readonly JsonObject[]): ResponseEvent[] {
    this.#details.push(...details);
    if (text === '') {
      return [];
    }
    const begun = this.#text !== '';
    this.#text += text;
    const opening = {
      type: 'response.reasoning_summary_part.added',
      ...this.#place(),
      part: { type: 'summary_text', text: '' },
    };
    const delta = { type: 'response.reasoning_summary_text.delta', ...this.#place(), delta: text };
    return begun ? [delta] : [opening, delta];
  }

  close(): ResponseEvent[] {
    this.#closed = true;
    this.#details = mergedDetails(this.#details);
    const text = this.#text;
    const part = { type: 'summary_text', text };
    const whole = [
      { type: 'response.reasoning_summary_text.done', ...this.#place(), text },
      { type: 'response.reasoning_summary_part.done', ...this.#place(), part },
    ];
    return [...(text === '' ? [] : whole), done(this)];
  }

  #place() {
    return { item_id: this.#id, output_index: this.index, summary_index: 0 };
  }
}

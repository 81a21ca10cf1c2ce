import { type JsonObject, lengthOf, objectOf, objectsOf, textOf } from './json.ts';
import {
  callText,
  type ItemReference,
  referenceIn,
  referenceOf,
  type SentItem,
  SentItems,
} from './sent-items.ts';

/** Format of chat `reasoning_details` that hold OpenAI's encrypted reasoning. The name is the one OpenRouter's clients know. */
export const ENCRYPTED_REASONING = 'openai-responses-v1';

/** Kinds of text: chat's two, and the two forms of reasoning. */
type TextKind = 'content' | 'refusal' | 'summary' | 'reasoning';

const TEXT_EVENT = /^response\.(output_text|refusal|reasoning_summary_text|reasoning_text)\.(delta|done)$/;
const CALL_EVENT = /^response\.(function_call_arguments|custom_tool_call_input)\.(delta|done)$/;

const KINDS: Readonly<Record<string, TextKind>> = {
  output_text: 'content',
  text: 'content',
  refusal: 'refusal',
  reasoning_summary_text: 'summary',
  summary_text: 'summary',
  reasoning_text: 'reasoning',
};

/**
 * Converts the output items of one response to chat deltas. An item arrives in pieces, its parts again as wholes, then the item as a whole,
 * and all items once more at the end. Some servers leave out any of these: of each whole, what has not arrived yet is passed on, so that
 * nothing is repeated and nothing is lost.
 */
export class OutputDeltas {
  readonly #items = new SentItems();
  readonly #origin: string;
  #thoughts = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Returns the deltas of an event. Those that repeat content, or are about tools that were not requested, have none. */
  piece(type: string, event: JsonObject): JsonObject[] {
    switch (type) {
      case 'response.output_text.delta':
        return this.#text('content', event, textOf(event.delta));
      case 'response.output_text.annotation.added': {
        const item = this.#items.ofPart(referenceIn(event, 'message'), false);
        const before = [...(item.texts.get('content') ?? [])]
          .filter(([part]) => Number(part) < Number(event.content_index ?? 0))
          .map(([, text]) => text);
        return this.#cited(item, [event.annotation], lengthOf(before.join('')));
      }
      case 'response.output_item.added':
        return this.#announce(objectOf(event.item), event.output_index);
      case 'response.output_item.done':
        return this.#done(objectOf(event.item), event.output_index);
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done':
        return this.#wholePart(event, objectOf(event.part));
      default: {
        const [, kind = '', stage] = TEXT_EVENT.exec(type) ?? CALL_EVENT.exec(type) ?? [];
        if (stage === undefined) {
          return [];
        }
        if (KINDS[kind] === undefined) {
          return this.#args(kind, event, stage === 'done');
        }
        return stage === 'done'
          ? this.#wholePart(event, { type: kind, text: event.text, refusal: event.refusal })
          : this.#text(KINDS[kind], event, textOf(event.delta));
      }
    }
  }

  /**
   * Returns the deltas of a whole response that have not been passed on yet; undefined if it has no output and nothing came before it.
   */
  rest(output: unknown): JsonObject[] | undefined {
    if (!Array.isArray(output) && this.#items.all.length === 0) {
      return undefined;
    }
    const wholes = objectsOf(output);
    const items = this.#items.ofOutput(wholes);
    const deltas = wholes.flatMap((whole, place) => this.#whole(items[place] as SentItem, whole));
    for (const item of this.#items.all) {
      // encrypted reasoning is not valid before it is done
      if (!item.isDone && item.announced && item.type !== 'reasoning' && !items.includes(item)) {
        deltas.push(...this.#whole(item, item.announced));
      }
      if (isCall(item.type) && item.name === '' && item.args !== '') {
        // nobody can run it: the reader of chat refuses it
        deltas.push(callDelta(item, { args: item.args }));
      }
    }
    return deltas;
  }

  #announce(whole: JsonObject, place: unknown): JsonObject[] {
    const reference = referenceOf(whole, place);
    const item = this.#items.ofWhole(reference, true);
    item.announced ??= whole;
    item.phase ||= textOf(whole.phase);
    return isCall(item.type) ? startOf(item, whole, '') : [];
  }

  #done(whole: JsonObject, place: unknown): JsonObject[] {
    const item = this.#items.ofWhole(referenceOf(whole, place), false);
    item.isDone = true;
    return this.#whole(item, whole);
  }

  /** Returns the deltas of an item that have not been passed on yet. */
  #whole(item: SentItem, whole: JsonObject): JsonObject[] {
    item.phase ||= textOf(whole.phase);
    switch (item.type) {
      case 'message':
        return [...this.#wholeTexts(item, whole), ...this.#wholeCitations(item, whole)];
      case 'reasoning':
        return this.#wholeThought(item, whole);
      case 'function_call':
      case 'custom_tool_call':
        return startOf(item, whole, missingArgs(item, whole));
      default:
        return [];
    }
  }

  #wholeTexts(item: SentItem, whole: JsonObject): JsonObject[] {
    return (['content', 'refusal'] as const).flatMap((kind) => {
      const text = objectsOf(whole.content)
        .map((part) => textOf(kind === 'content' ? part.text : part.refusal))
        .join('');
      const more = missing(text, textSent(item, kind));
      return more === '' ? [] : [this.#sent(item, kind, 'whole', more)];
    });
  }

  #wholeCitations(item: SentItem, { content }: JsonObject): JsonObject[] {
    let before = 0;
    return objectsOf(content).flatMap(({ text, annotations }) => {
      const start = before;
      before += lengthOf(textOf(text));
      return this.#cited(item, objectsOf(annotations), start);
    });
  }

  /** Returns the citations of pages that have not been passed on, `before` being the item's text before their part, in code points. */
  #cited(item: SentItem, annotations: readonly unknown[], before: number): JsonObject[] {
    const pages = objectsOf(annotations).filter((one) => one.type === 'url_citation');
    if (pages.length === 0) {
      return [];
    }
    const earlier = this.#items.all.filter(({ number, type }) => type === 'message' && number < item.number);
    const offset = before + lengthOf(earlier.map((one) => textSent(one, 'content')).join(''));
    const told = pages.flatMap(({ url, title, start_index, end_index }) => {
      const [start = 0, end = 0] = [start_index, end_index].map((index) => offset + Number(index ?? 0));
      const key = `${start} ${end} ${textOf(url)}`;
      const isNew = !item.cited.has(key);
      item.cited.add(key);
      const page = { start_index: start, end_index: end, url, title };
      return isNew ? [{ type: 'url_citation', url_citation: page }] : [];
    });
    return told.length === 0 ? [] : [{ annotations: told }];
  }

  #wholeThought(item: SentItem, whole: JsonObject): JsonObject[] {
    const { texts } = item;
    const isSummary =
      texts.has('summary') || (!texts.has('reasoning') && objectsOf(whole.summary).length > 0);
    const kind = isSummary ? 'summary' : 'reasoning';
    const deltas = objectsOf(isSummary ? whole.summary : whole.content).flatMap(({ text }, part) => {
      const more = missing(textOf(text), textSent(item, kind, part));
      return more === '' ? [] : [this.#sent(item, kind, part, more)];
    });
    const sealed = textOf(whole.encrypted_content);
    if (sealed === '' || item.isSealed) {
      return deltas;
    }
    item.isSealed = true;
    const index = this.#thoughts;
    this.#thoughts += 1;
    const data = `${this.#origin}.${sealed}`;
    const detail = { type: 'reasoning.encrypted', data, format: ENCRYPTED_REASONING, index };
    return [...deltas, { reasoning_details: [detail] }];
  }

  #text(kind: TextKind, event: JsonObject, text: string): JsonObject[] {
    if (text === '') {
      return [];
    }
    const item = this.#items.ofPart(referenceOfText(kind, event), false);
    return [this.#sent(item, kind, partOf(kind, event), text)];
  }

  #wholePart(event: JsonObject, part: JsonObject): JsonObject[] {
    const kind = KINDS[textOf(part.type)];
    const text = textOf(kind === 'refusal' ? part.refusal : part.text);
    if (kind === undefined || text === '') {
      return [];
    }
    const item = this.#items.ofPart(referenceOfText(kind, event), true);
    const more = missing(text, textSent(item, kind, partOf(kind, event)));
    return more === '' ? [] : [this.#sent(item, kind, partOf(kind, event), more)];
  }

  #args(kind: string, event: JsonObject, isWhole: boolean): JsonObject[] {
    const type = kind === 'custom_tool_call_input' ? 'custom_tool_call' : 'function_call';
    const item = this.#items.ofPart(referenceIn(event, type), isWhole);
    if (isWhole) {
      const { name, arguments: args, input } = event;
      const whole = { type, name, arguments: args, input };
      return startOf(item, whole, missingArgs(item, whole));
    }
    const more = callText({ type, arguments: event.delta, input: event.delta });
    item.args += more;
    // the pieces of a call that has no name yet wait for it
    return more === '' || item.name === '' ? [] : [callDelta(item, { args: more })];
  }

  /** Notes text that is passed on and returns its delta; a new part of reasoning starts a new paragraph. */
  #sent(item: SentItem, kind: TextKind, part: unknown, text: string): JsonObject {
    let parts = item.texts.get(kind);
    if (!parts) {
      parts = new Map();
      item.texts.set(kind, parts);
    }
    const isFirst = kind === 'content' && item.phase !== '' && textSent(item, kind) === '';
    parts.set(part, (parts.get(part) ?? '') + text);
    if (kind === 'content') {
      return isFirst ? { content: text, phases: [{ phase: item.phase, start: 0 }] } : { content: text };
    }
    if (kind === 'refusal') {
      return { refusal: text };
    }
    const thought = `${kind} ${part}`;
    const isNext = item.thought !== undefined && item.thought !== thought;
    item.thought = thought;
    return { reasoning_content: isNext ? `\n\n${text}` : text };
  }
}

function isCall(type: string): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function referenceOfText(kind: TextKind, event: JsonObject): ItemReference {
  return referenceIn(event, kind === 'content' || kind === 'refusal' ? 'message' : 'reasoning');
}

function partOf(kind: TextKind, event: JsonObject): unknown {
  return (kind === 'summary' ? event.summary_index : event.content_index) ?? 0;
}

/** Returns what was passed on of one part, or of all parts. */
function textSent({ texts }: SentItem, kind: TextKind, part?: unknown): string {
  const parts = texts.get(kind);
  return part === undefined ? [...(parts?.values() ?? [])].join('') : (parts?.get(part) ?? '');
}

/** Returns what a whole has beyond what was sent of it. One that is different from what was sent comes too late. */
function missing(whole: string, sent: string): string {
  return whole.startsWith(sent) ? whole.slice(sent.length) : '';
}

/** Returns what a whole call has beyond the arguments received. Some servers send `{}` first, which the reader of chat replaces. */
function missingArgs(item: SentItem, whole: JsonObject): string {
  const text = callText(whole);
  return item.type === 'function_call' && item.args === '{}' && text !== '{}'
    ? text
    : missing(text, item.args);
}

/** Returns the delta that names a call as soon as it can be named, with all that was received of its arguments until then. */
function startOf(item: SentItem, whole: JsonObject, more: string): JsonObject[] {
  item.args += more;
  const name = textOf(whole.name);
  if (item.name !== '' || name === '') {
    return item.name === '' || more === '' ? [] : [callDelta(item, { args: more })];
  }
  item.name = name;
  return [callDelta(item, { name, args: item.args })];
}

function callDelta(item: SentItem, { name, args }: { name?: string; args: string }): JsonObject {
  const id = name === undefined ? undefined : item.callId || item.id;
  const called =
    item.type === 'custom_tool_call'
      ? { custom: { name, input: args } }
      : { function: { name, arguments: args } };
  return { tool_calls: [{ index: item.number, id, ...called }] };
}

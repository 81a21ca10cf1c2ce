import { randomBytes } from 'node:crypto';
import { CallArguments } from './call-arguments.ts';
import { isObject, type JsonObject, objectOf, textOf } from './json.ts';
import { ProviderFailure } from './provider-failure.ts';

interface Call {
  /** Its number for clients; undefined until it is passed on, and for one that turns out to be none. */
  index: number | undefined;
  readonly id: string;
  /** The provider's id; empty if it sent none. */
  readonly givenId: string;
  readonly kind: 'function' | 'custom';
  name: string;
  readonly args: CallArguments;
  /** Data sent with the call that the next turn needs, e.g. Gemini's thought signature. */
  extra: JsonObject | undefined;
}

/**
 * Normalizes the tool calls of one answer: numbered from 0 in order, with ids, with arguments as one string. Providers number
 * all calls 0 (Gemini's converters), number none, start at 1, repeat or omit ids, send arguments as objects (TGI, llama.cpp),
 * send the name late or in pieces, and send pieces of several calls in turn. A call is passed on once its name is certain: with its first
 * arguments, or when something else follows. It begins after the one before it has ended: OpenAI's SDK for Python takes a call for complete
 * when the next one begins.
 */
export class ChatToolCalls {
  readonly #calls: Call[] = [];
  readonly #byGivenIndex = new Map<number, Call>();
  #open: Call | undefined;
  /** How many calls clients know of. */
  #started = 0;
  /** The call that is being passed on. */
  #front = 0;

  get any(): boolean {
    return this.#calls.some((call) => call.name !== '');
  }

  /** Adds a delta and returns the normalized deltas that are certain by now. */
  add(delta: JsonObject): JsonObject[] {
    const custom = isObject(delta.custom);
    const named = objectOf(delta.function ?? delta.custom);
    const name = textOf(named.name);
    const args = argumentsOf(custom ? named.input : named.arguments);
    const call = this.#callOf(delta, name, args) ?? this.#begin(delta, name, custom);
    const deltas = this.#open === call ? [] : this.#startOpen();
    this.#open = call;
    if (isObject(delta.extra_content)) {
      call.extra = delta.extra_content;
      if (isStarted(call)) {
        deltas.push({ index: call.index, extra_content: call.extra });
      }
    }
    if (!isStarted(call) && name !== '' && name !== call.name) {
      call.name += name;
    }
    const certain = call.args.add(args);
    if (certain !== '' && isStarted(call)) {
      deltas.push(next(call, certain));
    } else if (certain !== '' && call.name !== '' && call === this.#calls[this.#front]) {
      deltas.push(this.#start(call, call.args.text));
    }
    return [...deltas, ...this.#advance()];
  }

  /** Returns the starts of calls that waited for the end of those before them. */
  #advance(): JsonObject[] {
    const deltas: JsonObject[] = [];
    for (;;) {
      const [front, following] = this.#calls.slice(this.#front, this.#front + 2);
      if (!front || !isStarted(front) || !following || !front.args.isOverBefore(following.args)) {
        return deltas;
      }
      const late = front.args.end();
      if (late !== '') {
        deltas.push(next(front, late));
      }
      this.#front += 1;
      if (following.name !== '' && following.args.text !== '') {
        deltas.push(this.#start(following, following.args.text));
      }
    }
  }

  /** Returns whether the last call may still be held back for more. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Returns what was held back for more, because something other than calls follows now. */
  close(): JsonObject[] {
    this.#open = undefined;
    this.#front = this.#calls.length;
    return this.#calls.flatMap((call) => {
      const late = call.args.end();
      if (isStarted(call)) {
        return late === '' ? [] : [next(call, late)];
      }
      return call.name === '' ? [] : [this.#start(call, call.args.text)];
    });
  }

  /**
   * Returns what is still missing at the end of the answer: starts, and `{}` for calls without arguments, which strict parsers
   * need. Calls of an answer that was cut get no `{}`: their arguments may just not have arrived. Throws {@link ProviderFailure}
   * `malformed` for calls that nobody could run: arguments of a call that was never named, or of several calls in one.
   */
  end(wasCut: boolean): JsonObject[] {
    const deltas: JsonObject[] = [];
    for (const call of this.#calls) {
      if (call.name === '' && call.args.isEmpty) {
        continue;
      }
      const before = call.args.text;
      const all = wholeArguments(call, wasCut);
      if (!isStarted(call)) {
        deltas.push(this.#start(call, all));
      } else if (all !== before) {
        deltas.push(next(call, all.slice(before.length)));
      }
    }
    return deltas;
  }

  /** Returns the calls of an answer that was not streamed. Throws {@link ProviderFailure} `malformed` as {@link end} does. */
  whole(wasCut: boolean): JsonObject[] {
    return this.#calls.map((call) => {
      const { index: _, ...exact } = this.#start(call, wholeArguments(call, wasCut));
      return exact;
    });
  }

  /** Returns the start of the call that may still have got more of its name. */
  #startOpen(): JsonObject[] {
    const call = this.#open;
    this.#open = undefined;
    const isNext = call !== undefined && call === this.#calls[this.#front] && !isStarted(call);
    return isNext && call.name !== '' ? [this.#start(call, call.args.text)] : [];
  }

  /** Returns the start of a call with the next number. */
  #start(call: Call, args: string): JsonObject {
    call.index = this.#started;
    this.#started += 1;
    const head = { index: call.index, id: call.id, type: call.kind, ...body(call, call.name, args) };
    return call.extra ? { ...head, extra_content: call.extra } : head;
  }

  /** Returns the call that a delta continues; undefined if it begins a new one. */
  #callOf(delta: JsonObject, name: string, args: string): Call | undefined {
    const givenId = textOf(delta.id);
    const known = givenId === '' ? undefined : this.#calls.find((call) => call.givenId === givenId);
    const place = placeOf(delta);
    if (place === undefined) {
      return known ?? this.#unnumbered(givenId, name);
    }
    const numbered = this.#byGivenIndex.get(place);
    if (!numbered) {
      const nothingNew = name === '' && (givenId === '' || known !== undefined);
      return nothingNew ? (known ?? this.#calls.at(-1)) : undefined;
    }
    if (name === '' || name === numbered.name || numbered.name === '') {
      // a new id without a name continues the same call (OCI gives each piece its own id); with the same name it is another call
      const another = name !== '' && numbered.name !== '' && (givenId !== '' || isNextCall(numbered, args));
      return known ?? (another ? undefined : numbered);
    }
    if (known) {
      return known;
    }
    const whole = givenId !== '' || numbered.args.isWhole || args.startsWith('{');
    return whole && !numbered.args.isEmpty ? undefined : givenId === '' ? numbered : undefined;
  }

  #unnumbered(givenId: string, name: string): Call | undefined {
    const last = this.#calls.at(-1);
    if (givenId !== '' || !last) {
      return undefined;
    }
    // some repeat the name with each piece of the arguments
    const goesOn = name === last.name && last.kind === 'function' && !last.args.isEmpty && !last.args.isWhole;
    return name === '' || goesOn || (last.args.isEmpty && !isStarted(last)) ? last : undefined;
  }

  #begin(delta: JsonObject, name: string, custom: boolean): Call {
    const givenId = textOf(delta.id);
    const taken = givenId === '' || this.#calls.some((call) => call.id === givenId);
    const call: Call = {
      index: undefined,
      id: taken ? newToolCallId() : givenId,
      givenId,
      kind: custom ? 'custom' : 'function',
      name,
      args: new CallArguments(custom),
      extra: undefined,
    };
    this.#calls.push(call);
    const place = placeOf(delta);
    if (place !== undefined) {
      this.#byGivenIndex.set(place, call);
    }
    return call;
  }
}

/** Returns a new id for a call that came without one. Clients send it back with the result. */
export function newToolCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}

function isStarted(call: Call): boolean {
  return call.index !== undefined;
}

function next(call: Call, args: string): JsonObject {
  return { index: call.index, ...body(call, undefined, args) };
}

/** Returns all arguments of a call at its end. Throws {@link ProviderFailure} `malformed` if nobody could run it. */
function wholeArguments(call: Call, wasCut: boolean): string {
  call.args.end();
  if (call.name === '' || call.args.areSeveral) {
    throw new ProviderFailure('malformed');
  }
  return call.args.isEmpty && call.kind === 'function' && !wasCut ? '{}' : call.args.text;
}

function body(call: Call, name: string | undefined, args: string): JsonObject {
  if (call.kind === 'custom') {
    return { custom: name === undefined ? { input: args } : { name, input: args } };
  }
  return { function: name === undefined ? { arguments: args } : { name, arguments: args } };
}

/** Returns arguments as a string, as the protocol requires. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') {
    return value;
  }
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Returns the number that the provider gave to a call. Some write it as text. */
function placeOf({ index }: JsonObject): number | undefined {
  if (typeof index === 'number') {
    return index;
  }
  return /^\d{1,9}$/.test(textOf(index)) ? Number(index) : undefined;
}

/** Returns whether arguments belong to another call of the same function: the ones so far are complete, and these are not the same. */
function isNextCall(call: Call, args: string): boolean {
  return args.trimStart().startsWith('{') && call.args.isWhole && !call.args.isRepeat(args);
}

import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from './json.ts';
import { ProviderFailure } from './provider-failure.ts';

interface Call {
  readonly index: number;
  readonly id: string;
  /** The provider's id; empty if it sent none. */
  readonly givenId: string;
  readonly kind: 'function' | 'custom';
  name: string;
  args: string;
  /** Data sent with the call that the next turn needs, e.g. Gemini's thought signature. */
  extra: JsonObject | undefined;
  started: boolean;
}

/**
 * Normalizes the tool calls of one answer: numbered from 0 in order, with ids, with arguments as one string. Providers number
 * all calls 0 (Gemini's converters), number none, start at 1, repeat or omit ids, send arguments as objects (TGI, llama.cpp),
 * and send the name late or in pieces. A call is passed on once its name is certain: with its first arguments, or when
 * something else follows.
 */
export class ChatToolCalls {
  readonly #calls: Call[] = [];
  readonly #byGivenIndex = new Map<number, Call>();
  #open: Call | undefined;

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
    const deltas = this.#open === call ? [] : this.close();
    this.#open = call;
    if (isObject(delta.extra_content)) {
      call.extra = delta.extra_content;
      if (call.started) {
        deltas.push({ index: call.index, extra_content: call.extra });
      }
    }
    if (!call.started && name !== '' && name !== call.name) {
      call.name += name;
    }
    if (args === '' || isRepeat(call, args)) {
      return deltas;
    }
    call.args += args;
    if (call.started) {
      deltas.push({ index: call.index, ...body(call, undefined, args) });
    } else if (call.name !== '') {
      deltas.push(start(call, call.args));
    }
    return deltas;
  }

  /** Returns the start of the call that was held back for more, because something else follows now. */
  close(): JsonObject[] {
    const call = this.#open;
    this.#open = undefined;
    return call && !call.started && call.name !== '' ? [start(call, call.args)] : [];
  }

  /**
   * Returns what is still missing at the end of the answer: starts, and `{}` for calls without arguments, which strict parsers
   * need. Calls of an answer that was cut get no `{}`: their arguments may just not have arrived. Throws {@link ProviderFailure}
   * `malformed` for arguments of a call that was never named: nobody could run it.
   */
  end(wasCut: boolean): JsonObject[] {
    const deltas: JsonObject[] = [];
    for (const call of this.#calls) {
      if (call.name === '') {
        if (call.args === '') {
          continue;
        }
        throw new ProviderFailure('malformed');
      }
      const nothing = call.args === '' && call.kind === 'function' && !wasCut;
      if (!call.started) {
        deltas.push(start(call, nothing ? '{}' : call.args));
      } else if (nothing) {
        deltas.push({ index: call.index, ...body(call, undefined, '{}') });
      }
    }
    return deltas;
  }

  /** Returns the calls of an answer that was not streamed. Throws {@link ProviderFailure} `malformed` for one without a name. */
  whole(wasCut: boolean): JsonObject[] {
    return this.#calls.map((call) => {
      if (call.name === '') {
        throw new ProviderFailure('malformed');
      }
      const { index: _, ...exact } = start(call, call.args === '' && !wasCut ? '{}' : call.args);
      return exact;
    });
  }

  /** Returns the call that a delta continues; undefined if it begins a new one. */
  #callOf(delta: JsonObject, name: string, args: string): Call | undefined {
    const givenId = textOf(delta.id);
    const known = givenId === '' ? undefined : this.#calls.find((call) => call.givenId === givenId);
    if (typeof delta.index !== 'number') {
      return known ?? this.#unnumbered(givenId, name);
    }
    const numbered = this.#byGivenIndex.get(delta.index);
    if (!numbered) {
      const nothingNew = name === '' && (givenId === '' || known !== undefined);
      return nothingNew ? (known ?? this.#calls.at(-1)) : undefined;
    }
    if (name === '' || name === numbered.name || numbered.name === '') {
      // a new id without a name continues the same call (OCI gives each piece its own id); with the same name it is another call
      const another = name !== '' && numbered.name !== '' && givenId !== '' && !known;
      return another ? undefined : (known ?? numbered);
    }
    if (known) {
      return known;
    }
    const whole = givenId !== '' || (numbered.args !== '' && isJson(numbered.args)) || args.startsWith('{');
    return whole && numbered.started ? undefined : givenId === '' ? numbered : undefined;
  }

  #unnumbered(givenId: string, name: string): Call | undefined {
    const last = this.#calls.at(-1);
    if (givenId !== '' || !last) {
      return undefined;
    }
    return name === '' || (last.args === '' && !last.started) ? last : undefined;
  }

  #begin(delta: JsonObject, name: string, custom: boolean): Call {
    const givenId = textOf(delta.id);
    const taken = givenId === '' || this.#calls.some((call) => call.id === givenId);
    const call: Call = {
      index: this.#calls.length,
      id: taken ? newToolCallId() : givenId,
      givenId,
      kind: custom ? 'custom' : 'function',
      name,
      args: '',
      extra: undefined,
      started: false,
    };
    this.#calls.push(call);
    if (typeof delta.index === 'number') {
      this.#byGivenIndex.set(delta.index, call);
    }
    return call;
  }
}

/** Returns a new id for a call that came without one. Clients send it back with the result. */
export function newToolCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}

function start(call: Call, args: string): JsonObject {
  call.started = true;
  const head = { index: call.index, id: call.id, type: call.kind, ...body(call, call.name, args) };
  return call.extra ? { ...head, extra_content: call.extra } : head;
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

/** Returns whether a delta repeats the whole call, as some servers do in the last chunk. Two pieces of free text may well be equal. */
function isRepeat(call: Call, args: string): boolean {
  return call.kind === 'function' && args.length > 2 && args === call.args && isObject(parseJson(args));
}

function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

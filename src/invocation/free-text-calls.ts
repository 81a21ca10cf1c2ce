import { merged } from '../lib/merged.ts';
import { placeOf } from '../providers/chat-message.ts';
import {
  compact,
  isObject,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  without,
} from '../providers/json.ts';
import { chatToolName } from './dialects/tool-choices.ts';
import { freeTextOf, type OfferedTools } from './responses/offered-tools.ts';

/** A call of a stream. */
interface OpenCall {
  readonly index: unknown;
  /** What has arrived of arguments that can only be read as a whole; undefined if they are passed on as they come. */
  kept: string | undefined;
}

/**
 * Calls in the form of a client that offers tools as Responses has them and reads chat answers (Cursor): all are calls of functions, under
 * the client's names, and the arguments of a tool that takes free text are the text itself.
 */
export class FreeTextCalls {
  readonly #tools: OfferedTools;
  #open: OpenCall | undefined;

  constructor(tools: OfferedTools) {
    this.#tools = tools;
  }

  /** Rewrites the calls in a choice of an answer or chunk. Returns undefined for a chunk of which nothing is left. */
  choice(choice: JsonObject): JsonObject | undefined {
    const place = placeOf(choice);
    const said = objectOf(choice[place]);
    if (!Array.isArray(said.tool_calls)) {
      return choice;
    }
    const given = objectsOf(said.tool_calls);
    const calls =
      place === 'message'
        ? given.map((call) => this.#whole(call))
        : given.flatMap((call) => this.#part(call));
    const rest = without(said, 'tool_calls');
    if (calls.length > 0) {
      return merged(choice, { [place]: merged(rest, { tool_calls: calls }) });
    }
    return Object.keys(rest).length === 0 ? undefined : merged(choice, { [place]: rest });
  }

  /** Returns the choice of a chunk with the text of the last call, if it was kept back. */
  rest(): JsonObject | undefined {
    const tool_calls = this.#close();
    return tool_calls.length === 0 ? undefined : { index: 0, delta: { tool_calls }, finish_reason: null };
  }

  #whole(call: JsonObject): JsonObject {
    const { name, isFree } = this.#named(call);
    const given = givenTo(call);
    const text = isFree && !isObject(call.custom) ? freeTextOf(given) : given;
    return calling(call, { name, arguments: text });
  }

  #part(call: JsonObject): JsonObject[] {
    const text = givenTo(call);
    if (chatToolName(call) === '') {
      if (this.#open?.kept === undefined) {
        return [calling(call, { arguments: text })];
      }
      this.#open.kept += text;
      return [];
    }
    const { name, isFree } = this.#named(call);
    const before = this.#close();
    const isKept = isFree && !isObject(call.custom);
    this.#open = { index: call.index, kept: isKept ? text : undefined };
    return [...before, calling(call, { name, arguments: isKept ? '' : text })];
  }

  /** Ends the open call: the next one begins, or the answer ends. */
  #close(): JsonObject[] {
    const open = this.#open;
    this.#open = undefined;
    return open?.kept === undefined
      ? []
      : [{ index: open.index, function: { arguments: freeTextOf(open.kept) } }];
  }

  #named(call: JsonObject): { readonly name: unknown; readonly isFree: boolean } {
    const { custom, members } = this.#tools.itemOf(chatToolName(call));
    return { name: members.name, isFree: custom };
  }
}

/** Returns what the tool of a call is given: the arguments, or its free text. */
function givenTo(call: JsonObject): string {
  const { arguments: args, input } = objectOf(call.function ?? call.custom);
  return textOf(args ?? input);
}

function calling(call: JsonObject, called: JsonObject): JsonObject {
  const type = call.type === undefined ? undefined : 'function';
  return compact(merged(without(call, 'custom'), { type, function: called }));
}

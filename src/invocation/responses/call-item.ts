import { merged } from '../../lib/merged.ts';
import { isObject, type JsonObject } from '../../providers/json.ts';
import { chatToolName } from '../dialects/tool-choices.ts';
import { clientToolId } from '../dialects/tool-ids.ts';
import { freeTextOf } from './offered-tools.ts';
import { done, type ItemStatus, type OpenItem, type OutputOptions, type ResponseEvent } from './open-item.ts';

/** A call whose arguments, or whose free text, are still arriving. */
export class CallItem implements OpenItem {
  readonly index: number;
  readonly #id: string;
  readonly #custom: boolean;
  /** True when the provider supports custom tools: the input arrives as plain free text. */
  readonly #free: boolean;
  readonly #members: JsonObject;
  #args = '';
  #status: ItemStatus = 'in_progress';

  constructor(index: number, { ulid, tools }: OutputOptions, call: JsonObject) {
    const { custom, members } = tools.itemOf(chatToolName(call));
    this.index = index;
    this.#custom = custom;
    this.#free = isObject(call.custom);
    this.#id = `${custom ? 'ctc' : 'fc'}_${ulid}_${index}`;
    this.#members = merged(members, { call_id: clientToolId(call) });
  }

  get item(): JsonObject {
    const told = this.#told(this.#status === 'in_progress' ? '' : this.#whole);
    return { id: this.#id, status: this.#status, ...this.#members, ...told };
  }

  /** Free text inside JSON can only be sent as a whole. */
  add(args: string): ResponseEvent[] {
    this.#args += args;
    return args === '' || (this.#custom && !this.#free) ? [] : [this.#delta(args)];
  }

  close(status: ItemStatus): ResponseEvent[] {
    this.#status = status;
    const type = this.#custom
      ? 'response.custom_tool_call_input.done'
      : 'response.function_call_arguments.done';
    const name = this.#custom ? {} : { name: this.#members.name };
    const late = this.#custom && !this.#free ? [this.#delta(this.#whole)] : [];
    return [...late, { type, ...this.#place(), ...name, ...this.#told(this.#whole) }, done(this)];
  }

  get #whole(): string {
    return this.#custom && !this.#free ? freeTextOf(this.#args) : this.#args;
  }

  #told(text: string): JsonObject {
    return this.#custom ? { input: text } : { arguments: text };
  }

  #delta(delta: string): ResponseEvent {
    const kind = this.#custom ? 'custom_tool_call_input' : 'function_call_arguments';
    return { type: `response.${kind}.delta`, ...this.#place(), delta };
  }

  #place() {
    return { item_id: this.#id, output_index: this.index };
  }
}

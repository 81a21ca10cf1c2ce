import type { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { merged } from '../../lib/merged.ts';
import { type JsonObject, objectOf, objectsOf, textOf, without } from '../../providers/json.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { added, done, type OpenItem, type ResponseEvent } from './open-item.ts';
import type { ResponsesBody } from './responses.schema.ts';
import { openSummary, sealSummary } from './sealed-content.ts';

/**
 * Compaction: a request whose input ends with a `compaction_trigger` is answered with a `compaction` item that stands for the conversation
 * so far. OpenAI's models have their own; here the model writes a summary, which any model can read. Protocol:
 * developers.openai.com/api/docs/guides/compaction.
 */

const INSTRUCTION = `Your context is nearly full, and the conversation continues without what was said so far. Write the summary that takes its
place, for an assistant that has read nothing else: the task with all wishes and limits of the user, what was decided and why, what is done, and
what is left, with the next step. Keep exact what is needed again: names, paths, commands, values and errors. Write the summary alone.`;

const INTRODUCTION = 'The conversation so far was replaced by this summary of it:';

/** Returns the members of a Responses request with compaction items and triggers as messages. Throws AppError invalid_parameter. */
export function withCompactions(
  known: JsonObject,
  ignored: IgnoredMembers,
): { readonly known: JsonObject; readonly compacts: boolean } {
  const items = objectsOf(known.input);
  const isTrigger = ({ type }: JsonObject) => type === 'compaction_trigger';
  const place = items.findIndex(isTrigger);
  if (place >= 0 && place < items.length - 1) {
    throw new AppError('invalid_parameter', 'input: compaction_trigger must be the last item');
  }
  const compacts = place >= 0;
  if (!compacts && !items.some(({ type }) => type === 'compaction')) {
    return { known, compacts };
  }
  const input = items.flatMap((item) => (item.type === 'compaction' ? summaryOf(item, ignored) : [item]));
  return compacts
    ? { known: asking(known, [...input.slice(0, -1), message(INSTRUCTION)]), compacts }
    : { known: merged(known, { input }), compacts };
}

/** The summary is text, whatever form of answer the conversation has, and calls no tool. The tools stay, for the provider's cache. */
function asking(known: JsonObject, input: readonly JsonObject[]): JsonObject {
  const hasTools = objectsOf(known.tools).length > 0;
  const text = without(objectOf(known.text), 'format');
  return merged(without(known, 'tool_choice'), { input, text, ...(hasTools && { tool_choice: 'none' }) });
}

function summaryOf(item: JsonObject, ignored: IgnoredMembers): JsonObject[] {
  const summary = openSummary(textOf(item.encrypted_content));
  if (summary === '') {
    ignored.add('input[].encrypted_content');
    return [];
  }
  return [message(`${INTRODUCTION}\n\n${summary}`)];
}

/** Returns the input that asks for the summary of a conversation. */
export function compactionOf(input: ResponsesBody['input']): ResponsesBody['input'] {
  const items = typeof input === 'string' ? [message(input)] : input;
  return [...items, { type: 'compaction_trigger' }];
}

/** Presents the answer to a request for a compaction as such: the user's messages stay as they are, the summary stands for the rest. */
export function compactionPresenter(
  inner: DialectPresenter,
  input: ResponsesBody['input'],
): DialectPresenter {
  return {
    keepAliveFrame: inner.keepAliveFrame,
    stream: (...args) => inner.stream(...args),
    failure: (...args) => inner.failure(...args),
    answer(...args) {
      const present = inner.answer(...args);
      return (end) => {
        const { id, created_at, output, usage } = present(end);
        const kept = [...usersMessages(input), ...objectsOf(output)];
        return { id, object: 'response.compaction', created_at, output: kept, usage };
      };
    },
  };
}

function usersMessages(input: ResponsesBody['input']): JsonObject[] {
  const items = typeof input === 'string' ? [message(input)] : objectsOf(input);
  return items
    .filter(({ role }) => role === 'user')
    .map((item, index) =>
      merged({ id: `msg_${index}`, status: 'completed' }, merged(item, { type: 'message' })),
    );
}

function message(text: string) {
  return { type: 'message', role: 'user' as const, content: [{ type: 'input_text', text }] };
}

/** Builds the one output item of a compaction out of the model's answer. */
export class CompactionOutput {
  readonly #id: string;
  #summary = '';
  #item: OpenItem | undefined;

  constructor(ulid: string) {
    this.#id = `cmp_${ulid}`;
  }

  get items(): JsonObject[] {
    return this.#item ? [this.#item.item] : [];
  }

  /** Adds a delta, or a whole message as a single delta. */
  add(delta: JsonObject): ResponseEvent[] {
    this.#summary += textOf(delta.content);
    return [];
  }

  /** Ends the answer. An empty one becomes no item: the client would lose the conversation. */
  end(): ResponseEvent[] {
    if (this.#summary.trim() === '') {
      return [];
    }
    const encrypted_content = sealSummary(this.#summary);
    const item = { id: this.#id, type: 'compaction', encrypted_content };
    this.#item = { index: 0, item, close: () => [] };
    return [added(this.#item), done(this.#item)];
  }
}

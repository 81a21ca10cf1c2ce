import { eventFrame } from '../../http/answers/sse.ts';
import type { AppError } from '../../lib/errors.ts';
import { type JsonObject, objectOf, objectsOf } from '../../providers/json.ts';
import type { Dialect, FinishReason, ProviderAnswer, StreamPart } from '../../providers/provider.types.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import { citedPages } from '../dialects/annotations.ts';
import { messagesAnswerToChat } from '../dialects/messages-answer-to-chat.ts';
import { createMessagesToChat } from '../dialects/messages-stream-to-chat.ts';
import type { CallEnd } from '../invocation.types.ts';
import type {
  AnswerIdentity,
  AnswerPresenter,
  DialectPresenter,
  StreamPresenter,
} from '../presenter.types.ts';
import { presentResponsesUsage } from '../usage.presenter.ts';
import { CompactionOutput } from './compaction.ts';
import type { OfferedTools } from './offered-tools.ts';
import type { ItemStatus, ResponseEvent } from './open-item.ts';
import { OutputItems } from './output-items.ts';
import type { ResponsesBody } from './responses.schema.ts';
import type { TranslatedRequest } from './responses-request-to-chat.ts';

/** Why a response is incomplete, in the protocol's words. Undefined for a complete one. */
const INCOMPLETE: Readonly<Record<FinishReason, string | undefined>> = {
  stop: undefined,
  tool_calls: undefined,
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/**
 * Presents the answer to one request in OpenAI's Responses dialect. Each request has its own presenter, because a response repeats the
 * request.
 */
export class ResponsesPresenter implements DialectPresenter {
  readonly keepAliveFrame = ': keep-alive\n\n';
  readonly #body: ResponsesBody;
  readonly #tools: OfferedTools;
  readonly #compacts: boolean;
  #stream: ResponsesStream | undefined;

  constructor(body: ResponsesBody, { tools, compacts }: Pick<TranslatedRequest, 'tools' | 'compacts'>) {
    this.#body = body;
    this.#tools = tools;
    this.#compacts = compacts;
  }

  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity): AnswerPresenter {
    const wire = dialect === 'chat' ? answer.wire : messagesAnswerToChat(answer.wire);
    const items = this.#items(identity);
    for (const choice of objectsOf(wire.choices)) {
      const message = objectOf(choice.message);
      items.add(message, citedPages(wire, message));
    }
    items.end(itemStatus(answer.finishReason));
    if (this.#compacts && items.items.length === 0) {
      throw new ProviderFailure('garbled');
    }
    return (end) => ended(this.#head(identity), items.items, end);
  }

  stream(dialect: Dialect, identity: AnswerIdentity): StreamPresenter {
    this.#stream = new ResponsesStream(dialect, this.#head(identity), this.#items(identity));
    return this.#stream;
  }

  failure({ code, message, type }: AppError, identity: AnswerIdentity): string {
    const stream = this.#stream ?? new ResponsesStream('chat', this.#head(identity), this.#items(identity));
    const failed = { ...this.#head(identity), status: 'failed', error: { code, message }, output: [] };
    // the official SDK throws at a frame with `error`; agents wait for the failed response
    return (
      stream.frame({ type: 'response.failed', response: failed }) +
      stream.frame({ type: 'error', code, message, param: null, error: { type, code, message, param: null } })
    );
  }

  #items({ id }: AnswerIdentity): OutputItems | CompactionOutput {
    const ulid = id.replace(/^.*-/, '');
    if (this.#compacts) {
      return new CompactionOutput(ulid);
    }
    const { store, include, reasoning } = this.#body;
    const sealed = include?.includes('reasoning.encrypted_content') === true;
    // a client that relies on storage would reference the item by its id next time, but we store nothing
    const reasoned =
      store === false || sealed || (reasoning?.summary ?? reasoning?.generate_summary ?? null) !== null;
    return new OutputItems({ ulid, tools: this.#tools, reasoning: reasoned, sealed });
  }

  #head({ id, model, createdSeconds }: AnswerIdentity): JsonObject {
    const body = this.#body;
    return {
      id,
      object: 'response',
      created_at: createdSeconds,
      completed_at: null,
      status: 'in_progress',
      background: false,
      error: null,
      frequency_penalty: null,
      incomplete_details: null,
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      model,
      output: [],
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      presence_penalty: null,
      previous_response_id: null,
      prompt_cache_key: body.prompt_cache_key ?? null,
      reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
      safety_identifier: body.safety_identifier ?? null,
      service_tier: 'default',
      store: false,
      temperature: body.temperature ?? null,
      text: { ...body.text, format: body.text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      tools: body.tools ?? [],
      top_p: body.top_p ?? null,
      truncation: 'disabled',
      usage: null,
      user: body.user ?? null,
      metadata: body.metadata ?? {},
    };
  }
}

class ResponsesStream implements StreamPresenter {
  readonly #head: JsonObject;
  readonly #items: OutputItems | CompactionOutput;
  readonly #translate: ((event: JsonObject) => readonly JsonObject[]) | undefined;
  #sequence = 0;

  constructor(dialect: Dialect, head: JsonObject, items: OutputItems | CompactionOutput) {
    this.#head = head;
    this.#items = items;
    this.#translate = dialect === 'chat' ? undefined : createMessagesToChat();
  }

  part({ wire, finishReason }: StreamPart): string {
    let frames = this.#opening();
    // the finish reason is sent once the charge is committed
    for (const chunk of this.#translate?.(wire) ?? (finishReason === undefined ? [wire] : [])) {
      const delta = objectOf(objectsOf(chunk.choices)[0]?.delta);
      frames += this.#frames(this.#items.add(delta, citedPages(chunk, delta)));
    }
    return frames;
  }

  ending(end: CallEnd): string {
    const closing = this.#opening() + this.#frames(this.#items.end(itemStatus(end.finishReason)));
    const response = ended(this.#head, this.#items.items, end);
    return closing + this.frame({ type: `response.${String(response.status)}`, response });
  }

  frame(event: ResponseEvent): string {
    const { type, ...members } = event;
    const numbered = { type, sequence_number: this.#sequence, ...members };
    this.#sequence += 1;
    return eventFrame(numbered, type);
  }

  #frames(events: readonly ResponseEvent[]): string {
    return events.map((event) => this.frame(event)).join('');
  }

  #opening(): string {
    if (this.#sequence > 0) {
      return '';
    }
    const response = this.#head;
    return this.#frames([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }
}

function itemStatus(finish: FinishReason): ItemStatus {
  return INCOMPLETE[finish] === undefined ? 'completed' : 'incomplete';
}

function ended(head: JsonObject, output: readonly JsonObject[], end: CallEnd): JsonObject {
  const reason = INCOMPLETE[end.finishReason];
  const status = itemStatus(end.finishReason);
  const incomplete_details = reason === undefined ? null : { reason };
  const completed_at = reason === undefined ? Math.floor(end.endedAt / 1_000) : null;
  return { ...head, status, completed_at, incomplete_details, output, usage: presentResponsesUsage(end) };
}

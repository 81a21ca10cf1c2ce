import { eventFrame } from '../http/sse.ts';
import type { AppError } from '../lib/errors.ts';
import { chatFinishReason } from '../providers/chat-facts.ts';
import { type JsonObject, objectOf, objectsOf } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import { messagesAnswerToChat } from './dialects/messages-answer-to-chat.ts';
import { createMessagesToChat } from './dialects/messages-stream-to-chat.ts';
import type { CallEnd } from './invocation.types.ts';
import type { AnswerIdentity, DialectPresenter, StreamPresenter } from './presenter.types.ts';
import { presentChatUsage } from './usage.presenter.ts';

const OUR_MEMBERS = new Set(['id', 'object', 'created', 'model', 'usage', 'provider', 'choices']);
const DONE = 'data: [DONE]\n\n';

/** Answers in OpenAI's chat dialect. */
export const chatPresenter: DialectPresenter = {
  keepAliveFrame: ': keep-alive\n\n',
  answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity, end: CallEnd): JsonObject {
    const wire = dialect === 'chat' ? answer.wire : messagesAnswerToChat(answer.wire);
    const choices = objectsOf(wire.choices).map((choice) => ({
      ...choice,
      finish_reason: chatFinishReason(choice.finish_reason) ?? end.finishReason,
    }));
    const usage = presentChatUsage(end.usage);
    return Object.assign(foreign(wire), head(identity, 'chat.completion'), { choices, usage });
  },
  stream: (dialect, identity) => new ChatStream(dialect, identity),
  failure(error: AppError, identity: AnswerIdentity): string {
    const { code, message, type } = error;
    const choices = [{ index: 0, delta: {}, finish_reason: 'error' }];
    // `error` comes first: go-openai and its kin look for a frame that begins with it
    return eventFrame({
      error: { code, message, type },
      ...head(identity, 'chat.completion.chunk'),
      choices,
    });
  },
};

class ChatStream implements StreamPresenter {
  readonly #head: JsonObject;
  readonly #translate: (event: JsonObject) => readonly JsonObject[];
  #begun = false;
  #finished = false;

  constructor(dialect: Dialect, identity: AnswerIdentity) {
    this.#head = head(identity, 'chat.completion.chunk');
    this.#translate = dialect === 'chat' ? (chunk) => [chunk] : createMessagesToChat();
  }

  part(part: StreamPart): string {
    return this.#translate(part.wire)
      .map((chunk) => this.#chunk(chunk))
      .join('');
  }

  ending(end: CallEnd): string {
    const finish = this.#finished
      ? ''
      : this.#frame({ choices: [{ index: 0, delta: {}, finish_reason: end.finishReason }] });
    return `${finish}${this.#frame({ choices: [], usage: presentChatUsage(end.usage) })}${DONE}`;
  }

  /** A chunk without choices carries nothing but usage, which we send ourselves once it is charged. */
  #chunk(chunk: JsonObject): string {
    const choices = objectsOf(chunk.choices).map((choice) => this.#choice(choice));
    return choices.length === 0 ? '' : this.#frame(Object.assign(foreign(chunk), { choices }));
  }

  #choice(choice: JsonObject): JsonObject {
    const finishReason = chatFinishReason(choice.finish_reason) ?? null;
    const delta = objectOf(choice.delta);
    const opening = this.#begun ? {} : { role: 'assistant' };
    this.#begun = true;
    this.#finished ||= finishReason !== null;
    return { ...choice, delta: { ...opening, ...delta }, finish_reason: finishReason };
  }

  #frame(chunk: JsonObject): string {
    return eventFrame(Object.assign({}, this.#head, chunk));
  }
}

function head(identity: AnswerIdentity, object: string): JsonObject {
  return { id: identity.id, object, created: identity.createdSeconds, model: identity.model };
}

/** What the provider sent, less what we say ourselves and what names the provider. */
function foreign(wire: JsonObject): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(wire)) {
    if (!OUR_MEMBERS.has(name)) {
      kept[name] = value;
    }
  }
  return kept;
}

import { eventFrame } from '../http/answers/sse.ts';
import type { AppError } from '../lib/errors.ts';
import { placeOf, REASONING_MEMBERS } from '../providers/chat-message.ts';
import { type JsonObject, objectOf, objectsOf, without } from '../providers/json.ts';
import type { Dialect, ProviderAnswer, StreamPart } from '../providers/provider.types.ts';
import { choiceWithFunctionCall, offersFunctions } from './dialects/legacy-functions.ts';
import { messagesAnswerToChat } from './dialects/messages-answer-to-chat.ts';
import { createMessagesToChat } from './dialects/messages-stream-to-chat.ts';
import { FreeTextCalls } from './free-text-calls.ts';
import type { CallEnd } from './invocation.types.ts';
import type {
  AnswerIdentity,
  AnswerPresenter,
  DialectPresenter,
  StreamPresenter,
} from './presenter.types.ts';
import type { OfferedTools } from './responses/offered-tools.ts';
import { presentChatUsage } from './usage.presenter.ts';

const DONE = 'data: [DONE]\n\n';

/** Rewrites the choices of one answer in the caller's form. */
export interface ChoiceForm {
  /** Rewrites a choice of an answer or chunk. Returns undefined when nothing is left to send. */
  choice(choice: JsonObject): JsonObject | undefined;
  /** Returns the choice of a last chunk with what a stream has kept back; undefined for nothing. */
  rest(): JsonObject | undefined;
}

const NOTHING = () => undefined;
const AS_FUNCTIONS: ChoiceForm = { choice: choiceWithFunctionCall, rest: NOTHING };
const UNREASONED: ChoiceForm = { choice: choiceWithoutReasoning, rest: NOTHING };

const PLAIN = presenterOf(undefined);
const FUNCTIONS = presenterOf(() => AS_FUNCTIONS);
const WITHOUT_REASONING = presenterOf(() => UNREASONED);
const FUNCTIONS_WITHOUT_REASONING = presenterOf(() => inTurn(UNREASONED, AS_FUNCTIONS));

/**
 * Returns the presenter of answers to a chat request, in OpenAI's dialect: with calls in the form in which it offers functions or other
 * tools, and without reasoning if it wants none. Answers and chunks from providers are already exact, so their other members are passed on.
 */
export function chatPresenterFor(body: JsonObject, tools?: OfferedTools): DialectPresenter {
  if (tools) {
    return presenterOf(() => {
      const calls = new FreeTextCalls(tools);
      return hidesReasoning(body) ? inTurn(UNREASONED, calls) : calls;
    });
  }
  if (hidesReasoning(body)) {
    return offersFunctions(body) ? FUNCTIONS_WITHOUT_REASONING : WITHOUT_REASONING;
  }
  return offersFunctions(body) ? FUNCTIONS : PLAIN;
}

function inTurn(first: ChoiceForm, second: ChoiceForm): ChoiceForm {
  return {
    choice(choice) {
      const rest = first.choice(choice);
      return rest && second.choice(rest);
    },
    rest: () => second.rest(),
  };
}

function presenterOf(formOf: (() => ChoiceForm) | undefined): DialectPresenter {
  return {
    keepAliveFrame: ': keep-alive\n\n',
    answer(answer: ProviderAnswer, dialect: Dialect, identity: AnswerIdentity): AnswerPresenter {
      const wire = dialect === 'chat' ? answer.wire : messagesAnswerToChat(answer.wire);
      const form = formOf?.();
      const choices = objectsOf(wire.choices)
        .map((choice) => withoutPhases(without(choice, 'stop_reason')))
        .map((choice) => form?.choice(choice) ?? choice);
      // the official schema requires the fingerprint, even where a provider has none
      const told = { system_fingerprint: null, ...wire, ...head(identity, 'chat.completion'), choices };
      return (end) => Object.assign(told, { usage: presentChatUsage(end) });
    },
    stream: (dialect, identity) => new ChatStream(dialect, identity, formOf?.()),
    failure(error: AppError, identity: AnswerIdentity): string {
      const { code, message, type } = error;
      const choices = [{ index: 0, delta: {}, finish_reason: 'error' }];
      // `error` comes first: go-openai and similar clients look for a frame that begins with it
      return eventFrame({
        error: { code, message, type },
        ...head(identity, 'chat.completion.chunk'),
        choices,
      });
    },
  };
}

class ChatStream implements StreamPresenter {
  readonly #head: JsonObject;
  readonly #translate: ((event: JsonObject) => readonly JsonObject[]) | undefined;
  readonly #separateUsageChunk: boolean;
  readonly #form: ChoiceForm | undefined;
  #begun = false;

  constructor(dialect: Dialect, identity: AnswerIdentity, form: ChoiceForm | undefined) {
    this.#head = head(identity, 'chat.completion.chunk');
    this.#separateUsageChunk = identity.separateUsageChunk;
    this.#form = form;
    this.#translate = dialect === 'chat' ? undefined : createMessagesToChat();
  }

  part(part: StreamPart): string {
    if (!this.#translate) {
      // the finish reason is sent once the charge is committed
      return part.finishReason === undefined ? this.#chunk(part.wire) : '';
    }
    let frames = '';
    for (const chunk of this.#translate(part.wire)) {
      frames += this.#chunk(chunk);
    }
    return frames;
  }

  ending(end: CallEnd): string {
    const rest = this.#form?.rest();
    const kept = rest ? this.#frame({ choices: [rest] }) : '';
    const last = { index: 0, delta: {}, finish_reason: end.finishReason };
    const choices = [this.#form?.choice(last) ?? last];
    const usage = presentChatUsage(end);
    // a chunk without choices breaks clients that read the first choice of every chunk: only callers that ask for it get one
    const frames = this.#separateUsageChunk
      ? this.#frame({ choices }) + this.#frame({ choices: [], usage })
      : this.#frame({ choices, usage });
    return `${this.#opening()}${kept}${frames}${DONE}`;
  }

  #chunk(chunk: JsonObject): string {
    const { choices } = chunk;
    if (!Array.isArray(choices) || choices.length === 0) {
      return '';
    }
    const [first] = choices;
    if (!this.#form && !objectOf(first?.delta).phases) {
      return this.#opening() + this.#frame(chunk);
    }
    const said = objectsOf(choices)
      .map(withoutPhases)
      .flatMap((choice) => (this.#form ? (this.#form.choice(choice) ?? []) : [choice]));
    return said.length === 0 ? '' : this.#opening() + this.#frame({ ...chunk, choices: said });
  }

  /** Returns the chunk that announces the role, once, before all other chunks. */
  #opening(): string {
    if (this.#begun) {
      return '';
    }
    this.#begun = true;
    const delta = { role: 'assistant', content: '' };
    return this.#frame({ choices: [{ index: 0, delta, finish_reason: null }] });
  }

  #frame(chunk: JsonObject): string {
    return eventFrame(Object.assign({}, this.#head, chunk));
  }
}

function head(identity: AnswerIdentity, object: string): JsonObject {
  return { id: identity.id, object, created: identity.createdSeconds, model: identity.model };
}

/** Returns whether a chat request wants no reasoning in its answer: OpenRouter's `reasoning.exclude`, or its older `include_reasoning`. */
function hidesReasoning(body: JsonObject): boolean {
  return objectOf(body.reasoning).exclude === true || body.include_reasoning === false;
}

/** Removes the phases of messages, for which chat has no member. */
function withoutPhases(choice: JsonObject): JsonObject {
  const place = placeOf(choice);
  const said = objectOf(choice[place]);
  return said.phases ? { ...choice, [place]: without(said, 'phases') } : choice;
}

/** Removes the reasoning from an exact choice of an answer or chunk. Returns undefined for a chunk of which nothing is left. */
function choiceWithoutReasoning(choice: JsonObject): JsonObject | undefined {
  const place = placeOf(choice);
  const said = objectOf(choice[place]);
  const rest = without(said, ...REASONING_MEMBERS);
  const isGone = place === 'delta' && Object.keys(rest).length === 0 && Object.keys(said).length > 0;
  return isGone && !choice.finish_reason ? undefined : { ...choice, [place]: rest };
}

import { merged } from '../lib/merged.ts';
import { readChatContent, toolCallsOf } from './chat-message.ts';
import { ChatToolCalls } from './chat-tool-calls.ts';
import { throwIfError } from './classify-failure.ts';
import { finishWithTools, isCut, readFinish } from './finish-reasons.ts';
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import { plainText } from './plain-chunk.ts';
import type { FinishReason, ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsage } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { laterUsage, readChatUsage } from './usage-reading.ts';

/** Top-level members that describe the answer rather than the provider: citations, and Azure's filter results. */
const TOP_MEMBERS = ['citations', 'search_results', 'prompt_filter_results'] as const;
/** OpenAI's format; other servers put their name there (`fp_ollama`). */
const FINGERPRINT = /^fp_[0-9a-f]{8,}$/;

/**
 * Normalizes a whole chat completion. Throws {@link ProviderFailure} (`malformed` if it is not a chat completion) with the usage that it
 * reports.
 */
export function readChatAnswer(wire: JsonObject): ProviderAnswer {
  const choice = choiceOf(wire.choices);
  const usage = usageOf(wire, choice);
  try {
    return readAnswer(wire, choice, usage);
  } catch (error) {
    throw withUsage(error, usage);
  }
}

function readAnswer(
  wire: JsonObject,
  choice: JsonObject | undefined,
  usage: ProviderAnswer['usage'],
): ProviderAnswer {
  if (!choice) {
    throw new ProviderFailure('malformed');
  }
  throwIfError(choice);
  const finish = readFinish(choice.finish_reason);
  // Gemini leaves the message out of an answer without text, e.g. one that its filter stopped
  const message = choice.message ?? choice.delta ?? (finish && {});
  if (!isObject(message)) {
    throw new ProviderFailure('malformed');
  }
  const content = readChatContent(message);
  const calls = wholeCalls(message, isCut(finish?.reason));
  const finishReason = finishWithTools(finish?.reason ?? 'stop', calls.length > 0);
  const exact = Object.assign(
    { role: 'assistant', content: null, refusal: null },
    content.members,
    calls.length === 0 ? {} : { tool_calls: calls },
  );
  return {
    wire: { choices: [exactChoice(choice, { message: exact }, finishReason)], ...topMembers(wire) },
    text: content.text + content.refusal + calls.map(textOfCall).join(''),
    reasoning: content.reasoning,
    finishReason,
    unknownFinish: finish?.unknown,
    usage,
  };
}

/** Converts a whole completion to stream events, for servers that send one although a stream was requested. */
export function chatAnswerAsEvents(wire: JsonObject): string[] {
  return [JSON.stringify(wire), '[DONE]'];
}

/**
 * Returns a reader that normalizes the chunks of a streamed chat completion: one choice of index 0, whose delta has no role and no empty
 * members, and the finish reason once, in the last chunk.
 */
export function createChatReader(): EventReader {
  return new ChatReader();
}

class ChatReader implements EventReader {
  readonly #calls = new ChatToolCalls();
  #usage: StreamPart['usage'];
  #finish: FinishReason | undefined;
  #unknownFinish: string | undefined;
  #stopSequence: unknown;
  /** Members of chunks without content, held for the next chunk that has content. */
  #waiting: JsonObject | undefined;
  #fingerprint: unknown;
  /** Whether a choice was seen, and whether part of the answer was. */
  #begun = false;
  #spoken = false;
  #ended = false;

  readonly isComplete = () => this.#finish !== undefined;
  readonly isEnded = () => this.#ended;

  done(): void {
    this.#ended = true;
    // some servers end without a finish reason; one that sent nothing at all has not answered
    if (this.#begun) {
      this.#finish ??= 'stop';
    }
  }

  read(event: JsonObject, parts: StreamPart[]): void {
    // text may end what is held back of a call
    const text = this.#calls.isOpen ? undefined : plainText(event, this.#fingerprint);
    if (text === undefined) {
      this.#readAny(event, parts);
    } else {
      this.#begun = true;
    }
    if (text) {
      this.#spoken = true;
      parts.push({
        wire: { choices: [{ index: 0, delta: { content: text }, finish_reason: null }] },
        text,
        reasoning: '',
      });
    }
  }

  finish(parts: StreamPart[]): void {
    const finishReason = finishWithTools(this.#finish ?? 'stop', this.#calls.any);
    const last = this.#calls.end(isCut(finishReason));
    if (last.length > 0) {
      parts.push(this.#part({ tool_calls: last }, { text: last.map(textOfCall).join(''), reasoning: '' }));
    }
    const stopSequence = typeof this.#stopSequence === 'string' ? { stop_reason: this.#stopSequence } : {};
    parts.push({
      wire: { choices: [{ index: 0, delta: {}, ...stopSequence, finish_reason: finishReason }] },
      text: '',
      reasoning: '',
      finishReason,
      unknownFinish: this.#unknownFinish,
      usage: this.#usage,
    });
  }

  #readAny(event: JsonObject, parts: StreamPart[]): void {
    const choice = choiceOf(event.choices);
    throwIfError(choice ?? {});
    // Groq says there why it stopped early
    throwIfError(objectOf(event.x_groq));
    const usage = usageOf(event, choice);
    if (usage) {
      this.#usage = laterUsage(this.#usage, usage);
    }
    this.#waiting = topMembers(event, this.#waiting, this.#fingerprint);
    this.#fingerprint = event.system_fingerprint ?? this.#fingerprint;
    const before = parts.length;
    if (choice) {
      this.#readChoice(choice, parts);
    }
    if (usage && parts.length === before) {
      parts.push({ wire: NO_CHOICES, text: '', reasoning: '', usage: this.#usage });
    }
  }

  #readChoice(choice: JsonObject, parts: StreamPart[]): void {
    const finish = readFinish(choice.finish_reason);
    // a later `stop` only ends the stream: it must not make an answer whole that was cut
    if (finish && (finish.reason !== 'stop' || this.#finish === undefined)) {
      this.#finish = finish.reason;
      this.#unknownFinish = finish.unknown;
    }
    this.#stopSequence = choice.stop_reason ?? this.#stopSequence;
    const { delta, message } = choice;
    this.#begun ||= isObject(delta) || isObject(message) || finish !== undefined;
    if (isObject(delta)) {
      this.#readDelta(delta, choice, parts);
    }
    if (isObject(message)) {
      // some servers repeat the whole answer at the end, some have calls only there
      const calls = this.#calls.any ? [] : numbered(toolCallsOf(message));
      const rest = this.#spoken
        ? { tool_calls: calls }
        : merged(message, { tool_calls: calls, function_call: undefined });
      this.#readDelta(rest, choice, parts);
    }
  }

  #readDelta(delta: JsonObject, choice: JsonObject, parts: StreamPart[]): void {
    const { members, text, refusal, reasoning } = readChatContent(delta);
    const calls = toolCallsOf(delta).flatMap((call) => this.#calls.add(call));
    const beside = choiceMembers(choice);
    if (Object.keys(members).length > 0) {
      const started = calls.length === 0 && this.#calls.isOpen ? this.#calls.close() : [];
      if (started.length > 0) {
        parts.push(this.#part({ tool_calls: started }, { text: textOfCalls(started), reasoning: '' }));
      }
      parts.push(this.#part(members, { text: text + refusal, reasoning }, beside));
    } else if (calls.length === 0 && objectsOf(objectOf(beside.logprobs).content).length > 0) {
      // a token that is part of a character has no text, but has its bytes
      parts.push(this.#part({}, { text: '', reasoning: '' }, beside));
    }
    if (calls.length > 0) {
      parts.push(this.#part({ tool_calls: calls }, { text: textOfCalls(calls), reasoning: '' }));
    }
  }

  #part(delta: JsonObject, facts: { text: string; reasoning: string }, beside?: JsonObject): StreamPart {
    const top = this.#waiting;
    this.#waiting = undefined;
    this.#spoken = true;
    const choice = { index: 0, delta, ...beside, finish_reason: null };
    return { wire: { ...top, choices: [choice] }, ...facts, usage: this.#usage };
  }
}

const NO_CHOICES: JsonObject = { choices: [] };

/** Returns the one choice that was requested; any others are ignored. */
function choiceOf(choices: unknown): JsonObject | undefined {
  return objectsOf(choices).find((choice) => choice.index === 0 || typeof choice.index !== 'number');
}

function usageOf(event: JsonObject, choice: JsonObject | undefined): StreamPart['usage'] {
  return (
    readChatUsage(event.usage) ?? readChatUsage(choice?.usage) ?? readChatUsage(objectOf(event.x_groq).usage)
  );
}

function topMembers(event: JsonObject, before?: JsonObject, told?: unknown): JsonObject | undefined {
  let kept: Record<string, unknown> | undefined = before && { ...before };
  for (const name of TOP_MEMBERS) {
    if (Array.isArray(event[name])) {
      kept = Object.assign(kept ?? {}, { [name]: event[name] });
    }
  }
  const fingerprint = textOf(event.system_fingerprint);
  return fingerprint !== told && FINGERPRINT.test(fingerprint)
    ? { ...kept, system_fingerprint: fingerprint }
    : kept;
}

/** Returns the members of a choice that accompany its message or delta. */
function choiceMembers(choice: JsonObject): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const name of ['logprobs', 'content_filter_results']) {
    if (isObject(choice[name]) && Object.keys(choice[name]).length > 0) {
      members[name] = choice[name];
    }
  }
  return members;
}

function exactChoice(choice: JsonObject, message: JsonObject, finishReason: FinishReason): JsonObject {
  const stop = typeof choice.stop_reason === 'string' ? { stop_reason: choice.stop_reason } : {};
  return {
    index: 0,
    ...message,
    logprobs: null,
    ...choiceMembers(choice),
    finish_reason: finishReason,
    ...stop,
  };
}

function wholeCalls(message: JsonObject, wasCut: boolean): JsonObject[] {
  const calls = new ChatToolCalls();
  for (const call of numbered(toolCallsOf(message))) {
    calls.add(call);
  }
  return calls.whole(wasCut);
}

/** Gives each call of a whole message an index of its own, which keeps them apart: there no call continues another. */
function numbered(calls: readonly JsonObject[]): JsonObject[] {
  return calls.map((call, index) => merged(call, { index }));
}

function textOfCalls(calls: readonly JsonObject[]): string {
  return calls.map(textOfCall).join('');
}

function textOfCall(call: JsonObject): string {
  const { name, arguments: args, input } = objectOf(call.function ?? call.custom);
  return textOf(name) + textOf(args) + textOf(input);
}

import { merged } from '../lib/merged.ts';
import { finishWithTools, readFinish } from './finish-reasons.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from './json.ts';
import { blockFacts, exactBlock, saysNothing, typedBlock, typedDelta } from './messages-block.ts';
import { MessagesBlocks } from './messages-blocks.ts';
import type { FinishReason, ProviderAnswer, StreamPart } from './provider.types.ts';
import { ProviderFailure, withUsage } from './provider-failure.ts';
import type { EventReader } from './stream-reading.ts';
import { inputSide, joinMessagesReports, readMessagesUsage } from './usage-reading.ts';

/** The protocol's stop reasons. Clients accept no others. */
const STOP_REASONS: ReadonlySet<unknown> = new Set([
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]);

/** The protocol's stop reason for each finish reason, used when a provider sent a different one. */
const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/**
 * Normalizes a whole message. Throws {@link ProviderFailure} (`malformed` if it is not a message) with the usage that it reports.
 */
export function readMessagesAnswer(wire: JsonObject): ProviderAnswer {
  const usage = readMessagesUsage(wire.usage);
  try {
    return readAnswer(wire, usage);
  } catch (error) {
    throw withUsage(error, usage);
  }
}

function readAnswer(wire: JsonObject, usage: ProviderAnswer['usage']): ProviderAnswer {
  const content = blocksOf(wire).map(exactBlock);
  let text = '';
  let reasoning = '';
  for (const block of content) {
    const facts = blockFacts(block);
    text += facts.text;
    reasoning += facts.reasoning;
  }
  const called = content.some((block) => block.type === 'tool_use');
  const { finishReason, unknownFinish, word } = readEnd(wire.stop_reason, called);
  const end = { content, stop_reason: word, stop_sequence: wire.stop_sequence ?? null };
  return {
    wire: merged(shell(wire), end),
    text,
    reasoning,
    finishReason,
    unknownFinish,
    usage,
  };
}

/** Returns the blocks of a whole message. Some proxies send one string instead. Throws {@link ProviderFailure} `malformed` without any. */
function blocksOf({ content }: JsonObject): readonly JsonObject[] {
  if (typeof content === 'string') {
    return [{ type: 'text', text: content }];
  }
  if (!Array.isArray(content)) {
    throw new ProviderFailure('malformed');
  }
  return objectsOf(content).flatMap((block): readonly JsonObject[] => {
    const typed = typedBlock(block);
    return typed ? [typed] : [];
  });
}

/** Converts a whole message to stream events, for servers that send one although a stream was requested. */
export function messagesAnswerAsEvents(wire: JsonObject): string[] {
  const blocks = blocksOf(wire).flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: block },
    { type: 'content_block_stop', index },
  ]);
  const { stop_reason, stop_sequence = null, usage } = wire;
  return [
    { type: 'message_start', message: { ...wire, content: [] } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ].map((event) => JSON.stringify(event));
}

/**
 * Returns a reader that normalizes the events of a streamed message: known events only; one block after the other, with every delta
 * inside of its own; the closing delta, of which some servers send several, once and last.
 */
export function createMessagesReader(): EventReader {
  return new MessagesReader();
}

class MessagesReader implements EventReader {
  readonly #blocks = new MessagesBlocks();
  /** Other members of the closing event, and its delta, as merged so far. */
  #closing: Record<string, unknown> = {};
  #delta: Record<string, unknown> = {};
  /** Whether the closing delta reported usage. Until then the output count is a placeholder. */
  #reported = false;
  #usage: JsonObject = {};
  #called = false;
  #complete = false;
  #ended = false;

  readonly isComplete = () => this.#complete;
  readonly isEnded = () => this.#ended;

  /** Ignores the `[DONE]` that some proxies add: this protocol ends with message_stop. */
  done(): void {}

  read(event: JsonObject, parts: StreamPart[], name?: string): void {
    switch (event.type ?? name) {
      case 'message_start':
        this.#readStart(event, parts);
        break;
      case 'content_block_start':
        this.#startBlock(event, parts);
        break;
      case 'content_block_delta':
        this.#readDelta(event, parts);
        break;
      case 'content_block_stop':
        this.#blocks.stop(event.index, parts);
        break;
      case 'message_delta':
        this.#readClosing(event);
        break;
      case 'message_stop':
        this.#complete = true;
        this.#ended = true;
        break;
      default:
        // pings, and proxy events (`vertex_event`, metrics) that clients of the protocol do not know
        break;
    }
  }

  finish(parts: StreamPart[]): void {
    this.#blocks.end(parts);
    const { finishReason, unknownFinish, word } = readEnd(this.#delta.stop_reason, this.#called);
    const delta = { stop_sequence: null, ...this.#delta, stop_reason: word };
    parts.push({
      wire: merged(this.#closing, { type: 'message_delta', delta }),
      ...NOTHING,
      finishReason,
      unknownFinish,
      usage: this.#reported ? readMessagesUsage(this.#usage) : undefined,
    });
  }

  #readStart(event: JsonObject, parts: StreamPart[]): void {
    const message = objectOf(event.message);
    this.#usage = joinMessagesReports(this.#usage, message.usage);
    parts.push({
      wire: { type: 'message_start', message: shell(message) },
      ...NOTHING,
      inputUsage: inputSide(readMessagesUsage({ output_tokens: 0, ...this.#usage })),
    });
  }

  #startBlock(event: JsonObject, parts: StreamPart[]): void {
    const typed = typedBlock(objectOf(event.content_block));
    if (!typed) {
      // its deltas say what it is
      return;
    }
    const block = exactBlock(typed);
    this.#called ||= block.type === 'tool_use';
    this.#blocks.start(event.index, block, parts);
  }

  #readDelta(event: JsonObject, parts: StreamPart[]): void {
    const delta = typedDelta(objectOf(event.delta));
    if (delta && !saysNothing(delta)) {
      this.#blocks.add(event, delta, parts);
    }
  }

  #readClosing(event: JsonObject): void {
    const { delta, usage } = event;
    Object.assign(this.#closing, shell(event));
    for (const [name, value] of Object.entries(objectOf(delta))) {
      if (value !== null) {
        this.#delta[name] = value;
      }
    }
    this.#reported ||= Number(objectOf(usage).output_tokens ?? 0) > 0;
    this.#usage = joinMessagesReports(this.#usage, usage);
    this.#complete ||= readFinish(this.#delta.stop_reason) !== undefined;
  }
}

/** Members other than the content that describe the message rather than the provider. */
const SHELL_MEMBERS = ['container', 'context_management', 'stop_details'] as const;

function shell(message: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const name of SHELL_MEMBERS) {
    if (message[name] !== undefined) {
      kept[name] = message[name];
    }
  }
  return kept;
}

const NOTHING = { text: '', reasoning: '' };

function readEnd(stopReason: unknown, called: boolean) {
  const finish = readFinish(stopReason);
  const finishReason = finishWithTools(finish?.reason ?? 'stop', called);
  const plain = finishReason === (finish?.reason ?? 'stop') && STOP_REASONS.has(stopReason);
  return {
    finishReason,
    unknownFinish: finish?.unknown,
    word: plain ? textOf(stopReason) : WORDS[finishReason],
  };
}

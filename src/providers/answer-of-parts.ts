import { merged } from '../lib/merged.ts';
import { readChatAnswer } from './chat-reader.ts';
import { isCut } from './finish-reasons.ts';
import { isObject, type JsonObject, objectOf, objectsOf, parseJson, textOf, without } from './json.ts';
import { readMessagesAnswer } from './messages-reader.ts';
import type { ProviderAnswer, StreamPart } from './provider.types.ts';
import { withUsage } from './provider-failure.ts';

/**
 * Puts the parts of a whole stream of chat chunks together to one answer, for servers that stream although no stream was requested. Throws
 * {@link ProviderFailure} with the reported usage.
 */
export function chatAnswerOfParts(parts: readonly StreamPart[]): ProviderAnswer {
  const wire: Record<string, unknown> = {};
  const whole: Record<string, unknown> = { index: 0 };
  const message: Record<string, unknown> = {};
  const logprobs: Record<string, unknown> = {};
  const calls = new Map<unknown, Record<string, unknown>>();
  for (const part of parts) {
    Object.assign(wire, without(part.wire, 'choices'));
    const choice = objectOf(objectsOf(part.wire.choices)[0]);
    const { delta, logprobs: odds, ...others } = choice;
    Object.assign(whole, others);
    append(logprobs, objectOf(odds));
    const { tool_calls, ...said } = objectOf(delta);
    append(message, withPlaces(said, textOf(message.content).length));
    for (const call of objectsOf(tool_calls)) {
      appendCall(calls, call);
    }
  }
  message.tool_calls = [...calls.values()];
  Object.assign(whole, { message, logprobs });
  wire.choices = [whole];
  return withFacts(readChatAnswer, wire, parts);
}

/** Counts the places of phases from the beginning of the whole content. */
function withPlaces(said: JsonObject, before: number): JsonObject {
  const phases = objectsOf(said.phases);
  return phases.length === 0
    ? said
    : { ...said, phases: phases.map((one) => ({ ...one, start: Number(one.start) + before })) };
}

/** The same for the events of a message. */
export function messagesAnswerOfParts(parts: readonly StreamPart[]): ProviderAnswer {
  const wire: Record<string, unknown> = {};
  const blocks = new Map<unknown, Record<string, unknown>>();
  for (const { wire: event } of parts) {
    const block = blocks.get(event.index);
    switch (event.type) {
      case 'message_start':
        Object.assign(wire, objectOf(event.message));
        break;
      case 'content_block_start':
        blocks.set(event.index, merged(objectOf(event.content_block), {}));
        break;
      case 'content_block_delta':
        addToBlock(block ?? {}, objectOf(event.delta));
        break;
      case 'message_delta':
        Object.assign(wire, without(event, 'type', 'delta', 'usage'), objectOf(event.delta));
        break;
      default:
        break;
    }
  }
  const wasCut = isCut(parts.at(-1)?.finishReason);
  // a call whose input was cut off with the answer is none
  wire.content = [...blocks.values()].filter((block) => !wasCut || isReadable(block));
  return withFacts(readMessagesAnswer, wire, parts);
}

/** Reads a whole, with the usage that its parts reported. */
function withFacts(
  read: (wire: JsonObject) => ProviderAnswer,
  wire: JsonObject,
  parts: readonly StreamPart[],
): ProviderAnswer {
  const { usage, unknownFinish } = parts.at(-1) ?? {};
  const inputUsage = parts.find((part) => part.inputUsage)?.inputUsage;
  try {
    return merged(read(wire), { usage, inputUsage, unknownFinish });
  } catch (error) {
    throw withUsage(error, usage);
  }
}

/** Appends texts and lists in place, because a long answer has many pieces. Other members are replaced. */
function append(whole: Record<string, unknown>, piece: JsonObject): void {
  for (const [name, value] of Object.entries(piece)) {
    const before = whole[name];
    if (typeof value === 'string' && typeof before === 'string') {
      whole[name] = before + value;
    } else if (!Array.isArray(value)) {
      whole[name] = value;
    } else if (Array.isArray(before)) {
      before.push(...value);
    } else {
      whole[name] = [...value];
    }
  }
}

/** Adds a piece of a call to what came of it: only the first one has a name. */
function appendCall(calls: Map<unknown, Record<string, unknown>>, piece: JsonObject): void {
  const kind = isObject(piece.custom) ? 'custom' : 'function';
  const call = calls.get(piece.index) ?? merged(piece, { [kind]: {} });
  calls.set(piece.index, call);
  append(call[kind] as Record<string, unknown>, objectOf(piece[kind]));
}

function addToBlock(block: Record<string, unknown>, delta: JsonObject): void {
  switch (delta.type) {
    case 'text_delta':
      block.text = textOf(block.text) + textOf(delta.text);
      break;
    case 'thinking_delta':
      block.thinking = textOf(block.thinking) + textOf(delta.thinking);
      break;
    case 'signature_delta':
      block.signature = textOf(block.signature) + textOf(delta.signature);
      break;
    case 'input_json_delta':
      // the reader parses the text when it is whole
      block.input = textOf(block.input) + textOf(delta.partial_json);
      break;
    case 'citations_delta':
      block.citations = [...objectsOf(block.citations), objectOf(delta.citation)];
      break;
    default:
      break;
  }
}

function isReadable({ type, input }: JsonObject): boolean {
  return type !== 'tool_use' || typeof input !== 'string' || isObject(parseJson(input));
}

import { chatFinishReason } from '../../providers/chat-facts.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';
import { matchedStop } from './chat-answer-to-messages.ts';
import { stopReasonOf } from './stop-reason.ts';

/** Translates one stream, chunk by chunk. */
export type StreamTranslator = (event: JsonObject) => readonly JsonObject[];

/**
 * Chat chunks as message events. Chat interleaves freely, messages has one open block at a time: a delta of another
 * kind closes the block before it. Parallel calls whose arguments interleave are therefore collected, and the ones
 * that are not streaming come out whole, when their turn comes.
 */
export function createChatToMessages(): StreamTranslator {
  const state: State = { started: false, open: undefined, nextIndex: 0, calls: new Map(), refused: false };
  return (chunk) => {
    const events: JsonObject[] = [];
    if (!state.started) {
      state.started = true;
      events.push({ type: 'message_start', message: { type: 'message', role: 'assistant', content: [] } });
    }
    const choice = objectOf(objectsOf(chunk.choices)[0]);
    const delta = objectOf(choice.delta);
    pushText(state, events, 'thinking', textOf(delta.reasoning_content) || textOf(delta.reasoning));
    pushText(state, events, 'text', textOf(delta.content) + textOf(delta.refusal));
    state.refused ||= textOf(delta.refusal) !== '';
    for (const call of objectsOf(delta.tool_calls)) {
      pushCall(state, events, call);
    }
    const finishReason = chatFinishReason(choice.finish_reason);
    if (finishReason) {
      flushCalls(state, events);
      closeBlock(state, events);
      const stopSequence = matchedStop(choice);
      const reason = stopReasonOf(state.refused ? 'content_filter' : finishReason, stopSequence);
      events.push({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: stopSequence } });
    }
    return events;
  };
}

interface PendingCall {
  readonly id: unknown;
  name: string;
  args: string;
  done: boolean;
}

interface State {
  started: boolean;
  /** The open block: its kind, or the chat index of its tool call. */
  open: 'text' | 'thinking' | number | undefined;
  nextIndex: number;
  readonly calls: Map<number, PendingCall>;
  refused: boolean;
}

function pushText(state: State, events: JsonObject[], kind: 'text' | 'thinking', text: string): void {
  if (text === '') {
    return;
  }
  if (state.open !== kind) {
    flushCalls(state, events);
    const block =
      kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' };
    openBlock(state, events, kind, block);
  }
  const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
  events.push({ type: 'content_block_delta', index: state.nextIndex - 1, delta });
}

function pushCall(state: State, events: JsonObject[], call: JsonObject): void {
  const index = typeof call.index === 'number' ? call.index : state.calls.size;
  const named = objectOf(call.function);
  const args = textOf(named.arguments);
  let pending = state.calls.get(index);
  if (!pending) {
    pending = { id: call.id, name: textOf(named.name), args: '', done: false };
    state.calls.set(index, pending);
    if (typeof state.open !== 'number') {
      openCall(state, events, index, pending);
    }
  }
  if (state.open === index) {
    pushArguments(state, events, args);
  } else {
    pending.args += args;
  }
}

function openCall(state: State, events: JsonObject[], index: number, call: PendingCall): void {
  call.done = true;
  openBlock(state, events, index, { type: 'tool_use', id: call.id, name: call.name, input: {} });
}

function pushArguments(state: State, events: JsonObject[], partial: string): void {
  if (partial !== '') {
    const delta = { type: 'input_json_delta', partial_json: partial };
    events.push({ type: 'content_block_delta', index: state.nextIndex - 1, delta });
  }
}

function flushCalls(state: State, events: JsonObject[]): void {
  for (const [index, call] of state.calls) {
    if (!call.done) {
      openCall(state, events, index, call);
      pushArguments(state, events, call.args);
    }
  }
}

function openBlock(state: State, events: JsonObject[], kind: State['open'], block: JsonObject): void {
  closeBlock(state, events);
  state.open = kind;
  events.push({ type: 'content_block_start', index: state.nextIndex, content_block: block });
  state.nextIndex += 1;
}

function closeBlock(state: State, events: JsonObject[]): void {
  if (state.open !== undefined) {
    events.push({ type: 'content_block_stop', index: state.nextIndex - 1 });
    state.open = undefined;
  }
}

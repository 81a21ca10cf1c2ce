import { isCut } from '../../providers/finish-reasons.ts';
import { isObject, type JsonObject, objectOf, objectsOf, parseJson, textOf } from '../../providers/json.ts';
import { ObjectScan } from '../../providers/object-scan.ts';
import type { FinishReason } from '../../providers/provider.types.ts';
import { ProviderFailure } from '../../providers/provider-failure.ts';
import { type CitedPage, citationKey, citationOf, citedPages } from './annotations.ts';
import { type MessageForm, matchedStop } from './chat-answer-to-messages.ts';
import { stopReasonOf } from './stop-reason.ts';
import { thoughtOfDetail } from './thinking-details.ts';
import { clientToolId } from './tool-ids.ts';

/** Translates one stream of exact events, one at a time. */
export type StreamTranslator = (event: JsonObject) => readonly JsonObject[];

/**
 * Translates exact chat chunks into message events. Chat interleaves freely, while messages has one open block at a time: a delta of
 * another kind closes the previous block. Parallel calls whose arguments interleave are therefore collected, and those that are not
 * streaming are sent whole when it is their turn. Text and thinking that arrive amid the arguments of a call wait until it is whole.
 * Leaves out thinking that was not requested. Throws {@link ProviderFailure} `malformed` when arguments end without forming a JSON object,
 * or are not what was sent: the client would run the tool with different ones.
 */
export function createChatToMessages({ thinking, toolNames }: MessageForm): StreamTranslator {
  const state: State = {
    open: undefined,
    nextIndex: 0,
    calls: new Map(),
    waiting: [],
    signed: false,
    uncited: [],
    cited: new Set(),
    toolNames,
    refused: false,
    wasCut: false,
  };
  return (chunk) => {
    const events: JsonObject[] = [];
    const choice = objectOf(objectsOf(chunk.choices)[0]);
    const delta = objectOf(choice.delta);
    if (thinking) {
      pushThoughts(state, events, delta);
    }
    pushProse(state, events, {
      kind: 'text',
      text: textOf(delta.content) + textOf(delta.refusal),
      signature: '',
    });
    state.refused ||= textOf(delta.refusal) !== '';
    state.uncited.push(...citedPages(chunk, delta));
    pushCitations(state, events);
    for (const call of objectsOf(delta.tool_calls)) {
      pushCall(state, events, call);
    }
    if (typeof choice.finish_reason === 'string') {
      events.push(...closingEvents(state, choice, choice.finish_reason as FinishReason));
    }
    return events;
  };
}

function closingEvents(state: State, choice: JsonObject, finish: FinishReason): JsonObject[] {
  const events: JsonObject[] = [];
  state.wasCut = isCut(finish);
  flushCalls(state, events);
  flushTexts(state, events);
  pushCitations(state, events);
  closeBlock(state, events);
  for (const call of state.calls.values()) {
    // spaces after the last bracket may come when the block is closed already
    if (call.pieces.slice(call.sent).join('').trim() !== '') {
      throw new ProviderFailure('malformed');
    }
  }
  const stopSequence = matchedStop(choice);
  const reason = stopReasonOf(state.refused ? 'content_filter' : finish, stopSequence);
  return [...events, { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: stopSequence } }];
}

interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly scan: ObjectScan;
  /** The arguments received so far, and how many pieces of them the client got. */
  readonly pieces: string[];
  sent: number;
  done: boolean;
}

/** Text, thinking or the data of redacted thinking. A signature ends the thinking that it signs. */
interface Prose {
  readonly kind: 'text' | 'thinking' | 'redacted';
  text: string;
  signature: string;
}

interface State {
  /** The open block: its kind, or the chat index of its tool call. */
  open: Prose['kind'] | number | undefined;
  /** Whether the open block of thinking has its signature. */
  signed: boolean;
  nextIndex: number;
  readonly calls: Map<number, PendingCall>;
  /** What waits for unfinished calls, in order. */
  waiting: Prose[];
  /** Cited pages that wait for a block of text, and the keys of those that had one. */
  uncited: CitedPage[];
  readonly cited: Set<string>;
  readonly toolNames: MessageForm['toolNames'];
  refused: boolean;
  /** Whether the answer may have ended amid arguments. */
  wasCut: boolean;
}

/** Pushes the reasoning of a delta. Its details repeat the text, with signatures and with what is encrypted. */
function pushThoughts(state: State, events: JsonObject[], delta: JsonObject): void {
  const thoughts = objectsOf(delta.reasoning_details).map(thoughtOfDetail);
  if (thoughts.every(({ text }) => text === '')) {
    pushProse(state, events, { kind: 'thinking', text: textOf(delta.reasoning), signature: '' });
  }
  for (const { data, text, signature } of thoughts) {
    pushProse(state, events, { kind: 'redacted', text: data, signature: '' });
    pushProse(state, events, { kind: 'thinking', text, signature });
  }
}

function pushProse(state: State, events: JsonObject[], prose: Prose): void {
  const { kind, text, signature } = prose;
  if (text === '' && signature === '') {
    return;
  }
  if (state.open === kind || !hasUnfinishedCall(state)) {
    sendProse(state, events, prose);
    return;
  }
  const last = state.waiting.at(-1);
  if (last?.kind === kind && kind !== 'redacted' && last.signature === '') {
    last.text += text;
    last.signature = signature;
  } else {
    state.waiting.push(prose);
  }
}

function sendProse(state: State, events: JsonObject[], { kind, text, signature }: Prose): void {
  const isNext = kind === 'redacted' || (kind === 'thinking' && state.signed && text !== '');
  if (state.open !== kind || isNext) {
    flushCalls(state, events);
    openBlock(state, events, kind, blockOf(kind, text));
  }
  const delta = (body: JsonObject) =>
    events.push({ type: 'content_block_delta', index: state.nextIndex - 1, delta: body });
  if (kind === 'redacted') {
    closeBlock(state, events);
  } else if (kind === 'text') {
    delta({ type: 'text_delta', text });
  } else if (text !== '') {
    delta({ type: 'thinking_delta', thinking: text });
  }
  if (signature !== '') {
    state.signed = true;
    delta({ type: 'signature_delta', signature });
  }
}

/** Adds what is cited to the open text, each page once. */
function pushCitations(state: State, events: JsonObject[]): void {
  if (state.open !== 'text' || state.uncited.length === 0) {
    return;
  }
  for (const page of state.uncited) {
    const key = citationKey(page);
    if (!state.cited.has(key)) {
      state.cited.add(key);
      const delta = { type: 'citations_delta', citation: citationOf(page) };
      events.push({ type: 'content_block_delta', index: state.nextIndex - 1, delta });
    }
  }
  state.uncited = [];
}

function blockOf(kind: Prose['kind'], data: string): JsonObject {
  switch (kind) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    default:
      return { type: 'redacted_thinking', data };
  }
}

function flushTexts(state: State, events: JsonObject[]): void {
  for (const prose of state.waiting) {
    sendProse(state, events, prose);
  }
  state.waiting = [];
}

function hasUnfinishedCall({ calls }: State): boolean {
  for (const { scan, pieces } of calls.values()) {
    if (!scan.hasEnded(pieces)) {
      return true;
    }
  }
  return false;
}

function pushCall(state: State, events: JsonObject[], call: JsonObject): void {
  const index = call.index as number;
  const { name, arguments: given, input } = objectOf(call.function ?? call.custom);
  const args = textOf(given ?? input);
  let pending = state.calls.get(index);
  if (!pending) {
    pending = newCall(state, call, textOf(name));
    state.calls.set(index, pending);
    if (typeof state.open !== 'number') {
      openCall(state, events, index, pending);
    }
  }
  pending.pieces.push(args);
  if (state.open === index) {
    pushArguments(state, events, pending);
  }
  if (state.waiting.length > 0 && !hasUnfinishedCall(state)) {
    flushTexts(state, events);
  }
}

function newCall({ toolNames }: State, call: JsonObject, short: string): PendingCall {
  const name = toolNames.get(short) ?? short;
  return { id: clientToolId(call), name, scan: new ObjectScan(), pieces: [], sent: 0, done: false };
}

function openCall(state: State, events: JsonObject[], index: number, call: PendingCall): void {
  call.done = true;
  openBlock(state, events, index, { type: 'tool_use', id: call.id, name: call.name, input: {} });
}

function pushArguments(state: State, events: JsonObject[], call: PendingCall): void {
  const partial = call.pieces.slice(call.sent).join('');
  call.sent = call.pieces.length;
  if (partial !== '') {
    const delta = { type: 'input_json_delta', partial_json: partial };
    events.push({ type: 'content_block_delta', index: state.nextIndex - 1, delta });
  }
}

function flushCalls(state: State, events: JsonObject[]): void {
  for (const [index, call] of state.calls) {
    if (!call.done) {
      openCall(state, events, index, call);
      pushArguments(state, events, call);
    }
  }
}

function openBlock(state: State, events: JsonObject[], kind: State['open'], block: JsonObject): void {
  closeBlock(state, events);
  state.open = kind;
  state.signed = false;
  events.push({ type: 'content_block_start', index: state.nextIndex, content_block: block });
  state.nextIndex += 1;
}

/** Throws {@link ProviderFailure} `malformed` for arguments that form no object: clients' libraries fail at the end of their block. */
function closeBlock(state: State, events: JsonObject[]): void {
  const call = typeof state.open === 'number' ? state.calls.get(state.open) : undefined;
  if (call && !state.wasCut && !isObject(parseJson(call.pieces.join('')))) {
    throw new ProviderFailure('malformed');
  }
  if (state.open !== undefined) {
    events.push({ type: 'content_block_stop', index: state.nextIndex - 1 });
    state.open = undefined;
  }
}

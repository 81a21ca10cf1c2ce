import { createHash } from 'node:crypto';
import { pause } from '../lib/pause.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { TokenUsage } from '../lib/usage.ts';
import { composeReply, contentText, cutAtStop } from './builtin-reply.ts';
import { inputsToEmbed } from './embeddings-reader.ts';
import { type JsonObject, objectsOf, textOf } from './json.ts';
import type {
  FinishReason,
  Provider,
  ProviderAnswer,
  ProviderRequest,
  StreamPart,
} from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { BuiltinSettings } from './provider-settings.ts';
import { readRanking } from './rerank-reader.ts';
import { countTokens, splitTokens } from './token-counter.ts';

const DIMENSIONS = 256;

/** Overhead of a chat message in tokens: role and separators. */
const MESSAGE_TOKENS = 4;
/** Longest reply, in UTF-16 units. */
const REPLY_LENGTH_MAX = 65_536;
/** Tokens streamed before other calls get a turn, when there is no delay between tokens. */
const TOKENS_PER_TURN = 16;

/**
 * A model that is always available: offline, deterministic, without dependencies. It speaks the chat dialect and honors token caps, stop
 * sequences, tools and JSON formats, so that everything around a model can be tried without a provider.
 */
export class BuiltinProvider implements Provider {
  readonly id: string;
  readonly requestDialect = 'chat';
  readonly dialect = 'chat';
  readonly onDisconnect: 'abort' | 'drain';
  readonly outputCapMin = 1;
  readonly passThrough: readonly string[];
  readonly #tokenDelayMs: number;

  constructor(settings: BuiltinSettings) {
    this.id = settings.id;
    this.onDisconnect = settings.on_disconnect;
    this.passThrough = settings.pass_through;
    this.#tokenDelayMs = settings.token_delay_ms;
  }

  async complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const script = writeScript(request);
    await this.#pause(this.#tokenDelayMs * script.pieces.length, signal);
    const text = script.pieces.join('');
    const message = script.toolName
      ? { role: 'assistant', content: null, refusal: null, tool_calls: [toolCall(script.toolName, text)] }
      : { role: 'assistant', content: text, refusal: null };
    const { usage, finishReason } = script;
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason }];
    const produced = (script.toolName ?? '') + text;
    return { wire: { choices }, text: produced, reasoning: '', finishReason, usage };
  }

  async stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<readonly StreamPart[]>> {
    return this.#perform(writeScript(request), signal);
  }

  async embed({ body }: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    await this.#pause(0, signal);
    return builtinEmbeddings(body);
  }

  async rerank({ body }: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    await this.#pause(0, signal);
    return builtinRanking(body);
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {}

  async *#perform(script: Script, signal: StopSignal): AsyncGenerator<readonly StreamPart[], void> {
    yield [openingPart(script)];
    const perTurn = this.#tokenDelayMs === 0 ? TOKENS_PER_TURN : 1;
    for (let start = 0; start < script.pieces.length; start += perTurn) {
      await this.#pause(this.#tokenDelayMs, signal);
      yield script.pieces.slice(start, start + perTurn).map((piece) => piecePart(script, piece));
    }
    const { finishReason, usage } = script;
    const choices = [{ index: 0, delta: {}, finish_reason: finishReason }];
    yield [{ wire: chunk(choices), text: '', reasoning: '', finishReason, usage }];
  }

  async #pause(ms: number, signal: StopSignal): Promise<void> {
    if (ms > 0) {
      await pause(ms, signal);
    } else {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (signal.aborted) {
      throw new ProviderFailure('aborted');
    }
  }
}

interface Script {
  readonly pieces: readonly string[];
  /** Set when the pieces are a tool call's arguments. */
  readonly toolName: string | undefined;
  readonly finishReason: FinishReason;
  readonly usage: TokenUsage;
}

function writeScript(request: ProviderRequest): Script {
  const reply = composeReply(request.body);
  const spoken = reply.tool ? reply.tool.arguments : cutAtStop(reply.text, request.body.stop);
  const { pieces, tokens, cut } = splitTokens(spoken.slice(0, REPLY_LENGTH_MAX), request.maxOutputTokens);
  const ordinary: FinishReason = reply.tool ? 'tool_calls' : 'stop';
  return {
    pieces,
    toolName: reply.tool?.name,
    finishReason: cut ? 'length' : ordinary,
    usage: {
      inputTokens: promptTokens(request.body),
      outputTokens: tokens + (reply.tool ? countTokens(reply.tool.name) : 0),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    },
  };
}

function promptTokens(body: JsonObject): number {
  let total = Array.isArray(body.tools) ? countTokens(JSON.stringify(body.tools)) : 0;
  for (const message of objectsOf(body.messages)) {
    total += MESSAGE_TOKENS + countTokens(contentText(message.content));
    total += Array.isArray(message.tool_calls) ? countTokens(JSON.stringify(message.tool_calls)) : 0;
  }
  return total;
}

function toolCall(name: string, args: string): JsonObject {
  return { id: 'call_builtin', type: 'function', function: { name, arguments: args } };
}

function openingPart(script: Script): StreamPart {
  const { toolName } = script;
  const delta = toolName ? { tool_calls: [{ index: 0, ...toolCall(toolName, '') }] } : { content: '' };
  return { wire: chunk([{ index: 0, delta, finish_reason: null }]), text: toolName ?? '', reasoning: '' };
}

function piecePart(script: Script, text: string): StreamPart {
  const delta = script.toolName
    ? { tool_calls: [{ index: 0, function: { arguments: text } }] }
    : { content: text };
  return { wire: chunk([{ index: 0, delta, finish_reason: null }]), text, reasoning: '' };
}

function chunk(choices: readonly JsonObject[]): JsonObject {
  return { choices };
}

/**
 * Computes embeddings without a model, by hashing words into the dimensions: texts that share words are close to each other, which is
 * enough to try out search. The same text always gives the same vector, of length 1.
 */
function builtinEmbeddings(body: JsonObject): ProviderAnswer {
  const dimensions = typeof body.dimensions === 'number' ? body.dimensions : DIMENSIONS;
  const inputs = inputsToEmbed(body.input);
  const inputTokens = inputs.reduce<number>(
    (sum, input) => sum + (Array.isArray(input) ? input.length : countTokens(textOf(input))),
    0,
  );
  const data = inputs.map((input, index) => ({ index, embedding: vectorOf(wordsOf(input), dimensions) }));
  const nothing = { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  return {
    wire: { data },
    text: '',
    reasoning: '',
    finishReason: 'stop',
    usage: { inputTokens, ...nothing },
  };
}

/** Ranks the documents by the words they share with the query. */
function builtinRanking({ query, documents }: JsonObject): ProviderAnswer {
  const texts = Array.isArray(documents) ? documents : [];
  const wanted = vectorOf(wordsOf(query), DIMENSIONS);
  const results = texts.map((text, index) => {
    const vector = vectorOf(wordsOf(text), DIMENSIONS);
    const nearness = wanted.reduce((sum, value, place) => sum + value * (vector[place] ?? 0), 0);
    return { index, relevance_score: (1 + nearness) / 2 };
  });
  const each = countTokens(textOf(query));
  const tokens = texts.reduce((sum: number, text) => sum + each + countTokens(textOf(text)), 0);
  return readRanking({ results, usage: { prompt_tokens: tokens } }, texts.length);
}

function wordsOf(input: unknown): readonly string[] {
  return Array.isArray(input)
    ? input.map(String)
    : (textOf(input)
        .toLowerCase()
        .match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? ['']);
}

function vectorOf(words: readonly string[], dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of words) {
    const digest = createHash('sha256').update(word).digest();
    const place = digest.readUInt32LE(0) % dimensions;
    vector[place] = (vector[place] ?? 0) + (digest.readUInt8(4) % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  // words may cancel each other out, and a zero vector would not be close to anything
  return length === 0
    ? vector.map((_, place) => (place === 0 ? 1 : 0))
    : vector.map((value) => value / length);
}

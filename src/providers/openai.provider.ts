import { merged } from '../lib/merged.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { chatAnswerOfParts } from './answer-of-parts.ts';
import { chatAnswerAsEvents, createChatReader, readChatAnswer } from './chat-reader.ts';
import { inputsToEmbed, readEmbeddings, readInputUsage } from './embeddings-reader.ts';
import { isObject, type JsonObject, objectsOf } from './json.ts';
import { asksForUsage, type KnownMembers, knownMembersOf } from './known-members.ts';
import { STREAM_OPTIONS } from './optional-members.ts';
import type {
  Provider,
  ProviderAnswer,
  ProviderRequest,
  StreamBatch,
  ThinkingCap,
} from './provider.types.ts';
import type { OpenAiProviderSettings } from './provider-settings.ts';
import { sentWithoutRefusedMembers } from './refused-members.ts';
import { readRanking } from './rerank-reader.ts';
import { openParts, wholeParts } from './stream-reading.ts';
import { type CapField, capFieldOf, capsApart, thinkingCapOf } from './thinking-cap.ts';
import { UpstreamClient } from './upstream-client.ts';
import { readChatUsage } from './usage-reading.ts';

const PATH = '/chat/completions';
const EMBEDDINGS_PATH = '/embeddings';
const RERANK_PATH = '/rerank';

/**
 * Adapter for servers that speak OpenAI's chat completions: OpenAI, Azure (query and key header), vLLM, llama.cpp, Ollama, …
 * Protocol: platform.openai.com/docs/api-reference/chat.
 */
export class OpenAiProvider implements Provider {
  readonly id: string;
  readonly requestDialect = 'chat';
  readonly dialect = 'chat';
  readonly onDisconnect: 'abort' | 'drain';
  readonly outputCapMin = 1;
  readonly passThrough: readonly string[];
  readonly thinkingCap: ThinkingCap | undefined;
  readonly knownMembers: KnownMembers | undefined;
  readonly #settings: OpenAiProviderSettings;
  readonly #client: UpstreamClient;
  readonly #capFieldOf: (model: string) => CapField;
  /** Whether a stream is asked for its usage: not any more once the server has rejected the question. No caller decides that for others. */
  #asksForUsage: boolean;

  constructor(settings: OpenAiProviderSettings) {
    this.id = settings.id;
    this.onDisconnect = settings.on_disconnect;
    this.passThrough = settings.pass_through;
    this.#settings = settings;
    this.#capFieldOf = capFieldOf(settings);
    this.thinkingCap = thinkingCapOf(settings);
    this.knownMembers = knownMembersOf(settings);
    this.#asksForUsage = asksForUsage(settings);
    this.#client = new UpstreamClient(settings, authorization(settings));
  }

  async complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const { maxOutputTokens, inTurn, onLeftOut } = request;
    const readUsage = readChatUsage;
    const answer = await sentWithoutRefusedMembers(
      { dialect: 'chat', body: this.#body(request, { stream: false }), inTurn, onLeftOut },
      (body) => this.#client.postForAnswer({ path: PATH, body, maxOutputTokens, inTurn, signal, readUsage }),
    );
    return isObject(answer)
      ? readChatAnswer(answer)
      : chatAnswerOfParts(wholeParts(answer, createChatReader()));
  }

  async stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<StreamBatch>> {
    const { maxOutputTokens, reasons, inTurn, onLeftOut } = request;
    const options = this.#asksForUsage ? { [STREAM_OPTIONS]: { include_usage: true } } : {};
    const reader = createChatReader();
    const { isEnded } = reader;
    const answerAsEvents = chatAnswerAsEvents;
    const silenceMs = reasons ? this.#settings.timeouts.reasoning_ms : 0;
    const call = { path: PATH, maxOutputTokens, inTurn, signal, isEnded, answerAsEvents, silenceMs };
    const events = await sentWithoutRefusedMembers(
      {
        dialect: 'chat',
        body: this.#body(request, { stream: true, ...options }),
        inTurn,
        onLeftOut: (paths) => {
          this.#asksForUsage &&= !paths.includes(STREAM_OPTIONS);
          onLeftOut(paths);
        },
      },
      (body) => this.#client.postForEvents({ body, ...call }),
    );
    return openParts(events, reader);
  }

  async embed(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const answer = await this.#postInput(EMBEDDINGS_PATH, request, signal);
    return readEmbeddings(answer, inputsToEmbed(request.body.input).length);
  }

  async rerank(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const { documents } = request.body;
    const answer = await this.#postInput(RERANK_PATH, request, signal);
    return readRanking(answer, Array.isArray(documents) ? documents.length : 0);
  }

  /** Makes a call that has no output tokens. */
  #postInput(
    path: string,
    { body: given, model, inTurn, onLeftOut }: ProviderRequest,
    signal: StopSignal,
  ): Promise<JsonObject> {
    const call = { path, maxOutputTokens: 0, inTurn, signal, readUsage: readInputUsage };
    return sentWithoutRefusedMembers(
      { dialect: 'chat', body: merged(given, { model }), inTurn, onLeftOut },
      (body) => this.#client.postForJson({ body, ...call }),
    );
  }

  async probe(signal: StopSignal): Promise<void> {
    await this.#client.probe('/models', signal);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #body(request: ProviderRequest, ours: JsonObject): JsonObject {
    const { tokens, ...thinking } = this.thinkingCap
      ? capsApart(request, this.thinkingCap)
      : { tokens: request.maxOutputTokens };
    return Object.assign({}, request.body, ours, thinking, {
      messages: objectsOf(request.body.messages).map((message) => this.#message(message)),
      model: request.model,
      [this.#capFieldOf(request.model)]: tokens,
    });
  }

  #message(message: JsonObject): JsonObject {
    return message.role === 'developer' ? { ...message, role: this.#settings.developer_role } : message;
  }
}

/** Returns the header that carries a provider's key; no header if there is no key. */
export function authorization(
  settings: Pick<OpenAiProviderSettings, 'api_key' | 'api_key_header'>,
): Record<string, string> {
  if (settings.api_key === '') {
    return {};
  }
  return settings.api_key_header
    ? { [settings.api_key_header]: settings.api_key }
    : { authorization: `Bearer ${settings.api_key}` };
}

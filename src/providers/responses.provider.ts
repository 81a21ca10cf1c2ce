import { createHash } from 'node:crypto';
import { merged } from '../lib/merged.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { chatAnswerOfParts } from './answer-of-parts.ts';
import { isObject, type JsonObject } from './json.ts';
import { authorization } from './openai.provider.ts';
import type { Provider, ProviderAnswer, ProviderRequest, StreamBatch } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { ResponsesSettings } from './provider-settings.ts';
import { sentWithoutRefusedMembers } from './refused-members.ts';
import {
  createResponsesReader,
  inputOfOrigin,
  readResponsesAnswer,
  responsesAnswerAsEvents,
} from './responses-reader.ts';
import { openParts, wholeParts } from './stream-reading.ts';
import { UpstreamClient } from './upstream-client.ts';
import { readChatUsage } from './usage-reading.ts';

const PATH = '/responses';
/** Lowest output cap that OpenAI accepts, in tokens. */
const CAP_MIN = 16;
/** Length of the origin mark, in hex digits. */
const ORIGIN_LENGTH = 12;

/**
 * Adapter for servers that speak OpenAI's Responses: OpenAI, Azure, vLLM, … Nothing is stored there: each request holds the whole
 * conversation. Protocol: platform.openai.com/docs/api-reference/responses.
 */
export class ResponsesProvider implements Provider {
  readonly id: string;
  readonly requestDialect = 'responses';
  readonly dialect = 'chat';
  readonly onDisconnect: 'abort' | 'drain';
  readonly outputCapMin = CAP_MIN;
  readonly passThrough: readonly string[];
  readonly #client: UpstreamClient;
  /**
   * Marks this provider's encrypted reasoning. Only the provider that created it can decrypt it; any other (Azure instead of OpenAI, or
   * another Azure region) rejects the whole request. A hash, because clients see it.
   */
  readonly #origin: string;

  constructor(settings: ResponsesSettings) {
    this.id = settings.id;
    this.onDisconnect = settings.on_disconnect;
    this.passThrough = settings.pass_through;
    const made = createHash('sha256').update(`${settings.id} ${settings.base_url}`).digest('hex');
    this.#origin = made.slice(0, ORIGIN_LENGTH);
    this.#client = new UpstreamClient(settings, authorization(settings));
  }

  async complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const { maxOutputTokens, inTurn, onLeftOut } = request;
    const call = { path: PATH, maxOutputTokens, inTurn, signal, readUsage: readChatUsage };
    const answer = await sentWithoutRefusedMembers(
      { dialect: 'responses', body: this.#body(request, false), inTurn, onLeftOut },
      (body) => this.#client.postForAnswer({ body, ...call }),
    );
    return isObject(answer)
      ? readResponsesAnswer(answer, this.#origin)
      : chatAnswerOfParts(wholeParts(answer, createResponsesReader(this.#origin)));
  }

  async stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<StreamBatch>> {
    const { maxOutputTokens, inTurn, onLeftOut } = request;
    const reader = createResponsesReader(this.#origin);
    const { isEnded } = reader;
    const answerAsEvents = responsesAnswerAsEvents;
    const call = { path: PATH, maxOutputTokens, inTurn, signal, isEnded, answerAsEvents };
    const events = await sentWithoutRefusedMembers(
      { dialect: 'responses', body: this.#body(request, true), inTurn, onLeftOut },
      (body) => this.#client.postForEvents({ body, ...call }),
    );
    return openParts(events, reader);
  }

  embed(): Promise<ProviderAnswer> {
    return Promise.reject(new ProviderFailure('misconfigured'));
  }

  rerank(): Promise<ProviderAnswer> {
    return Promise.reject(new ProviderFailure('misconfigured'));
  }

  async probe(signal: StopSignal): Promise<void> {
    await this.#client.probe('/models', signal);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #body({ body, model, maxOutputTokens }: ProviderRequest, stream: boolean): JsonObject {
    const input = inputOfOrigin(body.input, this.#origin);
    const max_output_tokens = Math.max(maxOutputTokens, CAP_MIN);
    return merged(body, { input, model, max_output_tokens, stream, store: false });
  }
}

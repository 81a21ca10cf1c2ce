import { merged } from '../lib/merged.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { messagesAnswerOfParts } from './answer-of-parts.ts';
import { isObject, type JsonObject } from './json.ts';
import { createMessagesReader, messagesAnswerAsEvents, readMessagesAnswer } from './messages-reader.ts';
import type { Provider, ProviderAnswer, ProviderRequest, StreamBatch } from './provider.types.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { AnthropicSettings } from './provider-settings.ts';
import { sentWithoutRefusedMembers } from './refused-members.ts';
import { openParts, wholeParts } from './stream-reading.ts';
import { UpstreamClient } from './upstream-client.ts';
import { readMessagesUsage } from './usage-reading.ts';

const PATH = '/messages';
/** Smallest thinking budget the protocol accepts, in tokens. */
export const THINKING_BUDGET_MIN = 1_024;

/** Adapter for servers that speak Anthropic's Messages API. Protocol: platform.claude.com/docs/en/api/messages. */
export class AnthropicProvider implements Provider {
  readonly id: string;
  readonly requestDialect = 'messages';
  readonly dialect = 'messages';
  readonly onDisconnect: 'abort' | 'drain';
  readonly outputCapMin = 1;
  readonly passThrough: readonly string[];
  readonly #client: UpstreamClient;

  constructor(settings: AnthropicSettings) {
    this.id = settings.id;
    this.onDisconnect = settings.on_disconnect;
    this.passThrough = settings.pass_through;
    const key: Record<string, string> = settings.api_key === '' ? {} : { 'x-api-key': settings.api_key };
    this.#client = new UpstreamClient(settings, { 'anthropic-version': settings.version, ...key });
  }

  async complete(request: ProviderRequest, signal: StopSignal): Promise<ProviderAnswer> {
    const { maxOutputTokens, inTurn, onLeftOut } = request;
    const headers = headersOf(request);
    const call = { path: PATH, headers, maxOutputTokens, inTurn, signal, readUsage: readMessagesUsage };
    const answer = await sentWithoutRefusedMembers(
      { dialect: 'messages', body: bodyOf(request, false), inTurn, onLeftOut },
      (body) => this.#client.postForAnswer({ body, ...call }),
    );
    return isObject(answer)
      ? readMessagesAnswer(answer)
      : messagesAnswerOfParts(wholeParts(answer, createMessagesReader()));
  }

  async stream(request: ProviderRequest, signal: StopSignal): Promise<AsyncIterable<StreamBatch>> {
    const { maxOutputTokens, inTurn, onLeftOut } = request;
    const reader = createMessagesReader();
    const { isEnded } = reader;
    const answerAsEvents = messagesAnswerAsEvents;
    const headers = headersOf(request);
    const call = { path: PATH, headers, maxOutputTokens, inTurn, signal, isEnded, answerAsEvents };
    const events = await sentWithoutRefusedMembers(
      { dialect: 'messages', body: bodyOf(request, true), inTurn, onLeftOut },
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
}

function headersOf({ betas }: ProviderRequest): Readonly<Record<string, string>> {
  return betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') };
}

function bodyOf(request: ProviderRequest, stream: boolean): JsonObject {
  const { body, model, maxOutputTokens } = request;
  const thinking = thinkingWithin(body.thinking, maxOutputTokens);
  return merged(body, { model, max_tokens: maxOutputTokens, stream, ...thinking });
}

/** Keeps the thinking budget below the output cap, which may have been lowered since the caller chose both. */
function thinkingWithin(thinking: unknown, maxOutputTokens: number): JsonObject {
  if (
    !isObject(thinking) ||
    typeof thinking.budget_tokens !== 'number' ||
    thinking.budget_tokens < maxOutputTokens
  ) {
    return {};
  }
  return maxOutputTokens > THINKING_BUDGET_MIN
    ? { thinking: { ...thinking, budget_tokens: maxOutputTokens - 1 } }
    : { thinking: { type: 'disabled' } };
}

import OpenAI from 'openai';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import { startResponsesUpstream } from '../factories/upstream-responses.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** Protocols of providers, each also the name of a provider and of a model over it. */
export const PROTOCOLS = ['openai', 'anthropic', 'responses'] as const;

/** A gateway over one provider of each protocol, and the official SDK as its client. */
export class ProtocolGateway {
  readonly upstreams: Readonly<Record<(typeof PROTOCOLS)[number], UpstreamServer>>;
  readonly gateway: Gateway;
  readonly openai: OpenAI;

  private constructor(upstreams: ProtocolGateway['upstreams'], gateway: Gateway) {
    this.upstreams = upstreams;
    this.gateway = gateway;
    this.openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  }

  static async start(others: Parameters<typeof model>[2] = {}): Promise<ProtocolGateway> {
    const [openai, anthropic, responses] = await Promise.all([
      startOpenAiUpstream(),
      startAnthropicUpstream(),
      startResponsesUpstream(),
    ]);
    const upstreams = { openai, anthropic, responses };
    const gateway = await Gateway.start({
      providers: PROTOCOLS.map((protocol) => ({ id: protocol, protocol, base_url: upstreams[protocol].url })),
      models: PROTOCOLS.map((protocol) => model(protocol, [{ provider: protocol, model: 'gpt-5' }], others)),
    });
    return new ProtocolGateway(upstreams, gateway);
  }

  /** Forgets what the upstreams were told and asked. */
  reset(): void {
    for (const upstream of Object.values(this.upstreams)) {
      upstream.reset();
    }
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await Promise.all(Object.values(this.upstreams).map((upstream) => upstream.close()));
  }
}

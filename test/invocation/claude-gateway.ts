import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, type GatewayOptions } from './gateway.ts';

/** A gateway over a provider `anthropic`, which rejects as the real one does, and a chat provider `openai`. */
export class ClaudeGateway {
  readonly upstream: UpstreamServer;
  readonly chatUpstream: UpstreamServer;
  readonly gateway: Gateway;

  private constructor(upstream: UpstreamServer, chatUpstream: UpstreamServer, gateway: Gateway) {
    this.upstream = upstream;
    this.chatUpstream = chatUpstream;
    this.gateway = gateway;
  }

  static async start(models: GatewayOptions['models']): Promise<ClaudeGateway> {
    const upstream = await startAnthropicUpstream();
    const chatUpstream = await startOpenAiUpstream();
    const gateway = await Gateway.start({
      providers: [
        { id: 'anthropic', protocol: 'anthropic', base_url: upstream.url },
        { id: 'openai', protocol: 'openai', base_url: chatUpstream.url },
      ],
      models,
    });
    return new ClaudeGateway(upstream, chatUpstream, gateway);
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await this.upstream.close();
    await this.chatUpstream.close();
  }
}

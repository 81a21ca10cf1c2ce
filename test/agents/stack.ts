import { type ClientStack, startClientStack } from '../clients/client-stack.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { startScriptedModels } from './scripted-model.ts';

/** Models by the protocol of their provider. One has a made-up name, one the name of a Claude. */
export const MODELS = {
  openai: 'acme/coder',
  anthropic: 'acme/claude',
  responses: 'acme/thinker',
} as const;
const CONTEXT_LENGTH = 200_000;

/** The product with providers that simulate models. */
export interface AgentStack extends ClientStack {
  readonly upstreams: Readonly<Record<keyof typeof MODELS, UpstreamServer>>;
}

export async function startAgentStack(): Promise<AgentStack> {
  const upstreams = await startScriptedModels();
  const stack = await startClientStack(catalogOf(upstreams));
  return {
    ...stack,
    upstreams,
    stop: async () => {
      await stack.stop();
      await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
    },
  };
}

function catalogOf(upstreams: AgentStack['upstreams']): object {
  const protocols = ['openai', 'anthropic', 'responses'] as const;
  return {
    providers: protocols.map((protocol) => ({
      id: protocol,
      protocol,
      base_url: upstreams[protocol].url,
      api_key: 'none',
    })),
    models: protocols.map((protocol) => ({
      id: MODELS[protocol],
      endpoints: ['chat', 'messages'],
      context_length: CONTEXT_LENGTH,
      max_output_tokens: 32_000,
      pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
      supported_parameters: ['reasoning_effort', 'tools'],
      routes: [{ provider: protocol, model: protocol === 'anthropic' ? 'claude-opus-4-8' : 'gpt-5' }],
    })),
  };
}

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownTemporaryFolder } from '../../factories/temporary-folder.ts';
import { type OperatorServer, startOperatorServer } from '../../operators/support/operator-server.ts';

const LIMITS =
  'limits: { requests_per_minute: 10000000, tokens_per_minute: 10000000000, concurrency: 100000 }\n';

const textModel = (id: string) => `  - id: ${id}
    endpoints: [chat, messages]
    context_length: 128000
    max_output_tokens: 200
    pricing: { prompt: "0.000001", completion: "0.000002" }
    routes: [{ provider: builtin, model: builtin-small }]`;

const vectorModel = (id: string) => `  - id: ${id}
    endpoints: [embeddings]
    context_length: 8192
    pricing: { prompt: "0.000001" }
    routes: [{ provider: builtin, model: builtin-embed }]`;

/** Two text models, so that one can be hidden from an account, with limits that no test reaches. */
const CATALOG = `
providers: [{ id: builtin, protocol: builtin }]
models:
${textModel('acme/small')}
${textModel('acme/hidden')}
${vectorModel('acme/vectors')}
  - id: acme/rank
    endpoints: [rerank]
    context_length: 8192
    pricing: { prompt: "0.000001" }
    routes: [{ provider: builtin, model: builtin-rank }]
  - { id: video-fast, endpoints: [video], pricing: { request: "0.04" }, routes: [{ engine: local }] }
  - { id: image-turbo, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: local }] }
  - id: acme/film
    endpoints: [video]
    pricing: { second: "0.05" }
    media: { sizes: [640*360, 1920*1080], seconds: [2, 4], prices: { 1920*1080: { second: "0.12" } } }
    routes: [{ engine: local, model: builtin-video }]
  - id: acme/photo
    endpoints: [image]
    pricing: { image: "0.02" }
    media: { sizes: [800*600, 1600*1200], prices: { 1600*1200: { image: "0.08" } } }
    routes: [{ engine: local, model: builtin-image }]
  # those that the examples of the reference call
${textModel('tollgate/small')}
${vectorModel('tollgate/embed')}
`;

/** The engines. With an OpenAI images server there is also the model acme/picture, whose images take no work on this machine. */
function enginesWith(picturesUrl: string | undefined): string {
  if (picturesUrl === undefined) {
    return 'engines: [{ id: local, kind: builtin }]\n';
  }
  return `  - { id: acme/picture, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: pictures }] }
engines:
  - { id: local, kind: builtin }
  - { id: pictures, kind: openai, base_url: "${picturesUrl}/v1", slots: 8, poll_interval_ms: 50 }
`;
}

/**
 * Starts the API with every route, put together as in production, on a catalog of its own. `trustedProxies: 1` lets a request state the
 * address it comes from.
 */
export async function startWholeApplication(options: {
  readonly redisDatabase: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder of the built web console. */
  readonly consoleFolder?: string;
  /** Address of an OpenAI images server. */
  readonly picturesUrl?: string;
  /** Port to listen on. 0 selects any free port. */
  readonly port?: number;
}): Promise<OperatorServer> {
  const folder = ownTemporaryFolder('catalog');
  const catalog = join(folder, 'tollgate.yaml');
  await writeFile(catalog, `${LIMITS}${CATALOG}${enginesWith(options.picturesUrl)}`);
  const server = await startOperatorServer({
    redisDatabase: options.redisDatabase,
    environment: {
      TOLLGATE_CONFIG: catalog,
      TRUSTED_PROXIES: '1',
      TEST_PAYMENTS: 'allow',
      ...options.environment,
    },
    ...(options.port !== undefined && { port: options.port }),
    ...(options.consoleFolder !== undefined && { consoleFolder: options.consoleFolder }),
  });
  return {
    ...server,
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

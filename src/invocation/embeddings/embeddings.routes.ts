import { defineRoute, type Route } from '../../http/route.ts';
import type { InvocationService } from '../invocation.service.ts';
import { INVOCATION_ERRORS } from '../invocation-errors.ts';
import { INVOCATION_HEADERS } from '../invocation-headers.ts';
import { invocationOf } from '../invoke.ts';
import { embeddingsPresenter } from './embeddings.presenter.ts';
import { embeddingsAnswer, embeddingsRequest } from './embeddings.schema.ts';

const PATH = '/api/v1/embeddings';

export interface EmbeddingsRouteDependencies {
  readonly service: InvocationService;
  /** Largest request body, in bytes. */
  readonly bodyBytesMax: number;
}

/** OpenAI's embeddings. */
export function embeddingsRoutes({ service, bodyBytesMax }: EmbeddingsRouteDependencies): Route[] {
  const route = { dialect: 'embeddings', endpoint: PATH, servedBy: ['embeddings'], ignored: [] } as const;
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'createEmbeddings',
      summary: 'Embeddings of texts or token lists',
      description:
        'For models with the endpoint `embeddings`. Only the input is charged, at the price `prompt`.',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: embeddingsRequest,
      bodyBytesMax,
      requestHeaders: INVOCATION_HEADERS,
      response: { status: 200, schema: embeddingsAnswer },
      errors: INVOCATION_ERRORS,
      idempotency: 'replay',
      async handle(context) {
        const { body, response } = context;
        const invocation = await invocationOf(context, body, undefined, route);
        const presenter = embeddingsPresenter(body.encoding_format ?? 'float');
        return service.complete(invocation, presenter, (headers) => response.set(headers));
      },
    }),
  ];
}

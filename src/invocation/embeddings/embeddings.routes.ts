import { MAX_COST_HEADER } from '../../http/input/max-cost.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { objectsOf } from '../../providers/json.ts';
import type { InvocationService } from '../invocation.service.ts';
import { INVOCATION_ERRORS } from '../invocation-description.ts';
import { invocationOf } from '../invoke.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { presentEmbeddingsUsage } from '../usage.presenter.ts';
import { embeddingsAnswer, embeddingsRequest } from './embeddings.schema.ts';

const FLOAT_BYTES = 4;

const PATH = '/api/v1/embeddings';

export interface EmbeddingsRouteDependencies {
  readonly service: InvocationService;
  /** Maximum request body, in bytes. */
  readonly bodyBytesMax: number;
}

/** OpenAI's embeddings endpoint. */
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
      requestHeaders: MAX_COST_HEADER,
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

/** Presents vectors in the requested form, converting when the provider sent the other one. */
function embeddingsPresenter(format: 'float' | 'base64'): Pick<DialectPresenter, 'answer'> {
  return {
    answer({ wire }, _dialect, { id, model }) {
      const data = objectsOf(wire.data).map(({ index, embedding }) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? asBase64(embedding) : asFloats(embedding),
      }));
      return (end) => ({ id, object: 'list', data, model, usage: presentEmbeddingsUsage(end) });
    },
  };
}

function asBase64(embedding: unknown): string {
  if (typeof embedding === 'string') {
    return embedding;
  }
  const floats = embedding as readonly number[];
  const bytes = Buffer.alloc(floats.length * FLOAT_BYTES);
  for (const [place, float] of floats.entries()) {
    bytes.writeFloatLE(float, place * FLOAT_BYTES);
  }
  return bytes.toString('base64');
}

function asFloats(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') {
    return embedding as readonly number[];
  }
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, place) =>
    bytes.readFloatLE(place * FLOAT_BYTES),
  );
}

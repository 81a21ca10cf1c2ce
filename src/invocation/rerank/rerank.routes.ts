import { defineRoute, type Route } from '../../http/route.ts';
import { objectsOf } from '../../providers/json.ts';
import type { InvocationService } from '../invocation.service.ts';
import { INVOCATION_ERRORS } from '../invocation-errors.ts';
import { INVOCATION_HEADERS } from '../invocation-headers.ts';
import { invocationOf } from '../invoke.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { presentEmbeddingsUsage } from '../usage.presenter.ts';
import { rerankAnswer, rerankRequest } from './rerank.schema.ts';
import { documentTexts } from './rerank-texts.ts';

const PATH = '/api/v1/rerank';

export interface RerankRouteDependencies {
  readonly service: InvocationService;
  /** Largest request body, in bytes. */
  readonly bodyBytesMax: number;
}

/** Rerank as Cohere, Jina and the OpenAI-compatible servers have it. */
export function rerankRoutes({ service, bodyBytesMax }: RerankRouteDependencies): Route[] {
  const route = { dialect: 'rerank', endpoint: PATH, servedBy: ['rerank'], ignored: [] } as const;
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'rerank',
      summary: 'Sort documents by how well they answer a query',
      description:
        'For models with the endpoint `rerank`. Only the input is charged, at the price `prompt`, and `request` per call: the query counts once for each document.',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: rerankRequest,
      bodyBytesMax,
      requestHeaders: INVOCATION_HEADERS,
      response: { status: 200, schema: rerankAnswer },
      errors: INVOCATION_ERRORS,
      idempotency: 'replay',
      async handle(context) {
        const { body, response } = context;
        const texts = documentTexts(body.documents);
        const invocation = await invocationOf(context, { ...body, documents: texts }, undefined, route);
        const presenter = rankingPresenter(
          body.top_n ?? texts.length,
          body.return_documents ? texts : undefined,
        );
        return service.complete(invocation, presenter, (headers) => response.set(headers));
      },
    }),
  ];
}

/** Answers with the best `most`, and with their texts where `texts` are given: providers need not send them back. */
function rankingPresenter(
  most: number,
  texts: readonly string[] | undefined,
): Pick<DialectPresenter, 'answer'> {
  return {
    answer({ wire }, _dialect, { id, model }) {
      const results = objectsOf(wire.results)
        .slice(0, most)
        .map((result) => ({ ...result, ...(texts && { document: { text: texts[Number(result.index)] } }) }));
      return (end) => ({ id, model, results, usage: presentEmbeddingsUsage(end) });
    },
  };
}

import { z } from 'zod';
import { MAX_COST_HEADER } from '../../http/input/max-cost.ts';
import { usageJson } from '../../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { objectsOf } from '../../providers/json.ts';
import type { InvocationService } from '../invocation.service.ts';
import { INVOCATION_ERRORS } from '../invocation-description.ts';
import { invocationOf } from '../invoke.ts';
import type { DialectPresenter } from '../presenter.types.ts';
import { presentEmbeddingsUsage } from '../usage.presenter.ts';
import { documentTexts, unreadMembers } from './rerank-texts.ts';

/** Cohere's limit; clients split their documents accordingly. */
const DOCUMENTS_MAX = 1_000;
/** The model reads the query with each document, so the query counts once per document. */
const QUERY_LENGTH_MAX = 8_192;

const document = z.union(
  [
    z.string().min(1),
    z.looseObject({ text: z.string().min(1).meta({ description: 'The text to be ranked' }) }),
  ],
  {
    error: 'must be a text, or an object with `text`',
  },
);

/** Body of a rerank call. */
const rerankRequest = z
  .looseObject({
    model: z.string().min(1).max(256).meta({ description: 'A public model id from the model list' }),
    query: z.string().min(1).max(QUERY_LENGTH_MAX).meta({ description: 'What the documents should answer' }),
    documents: z.array(document).min(1).max(DOCUMENTS_MAX).meta({
      description: 'Texts, or objects with `text`; each is read with the query, in a context of its own',
    }),
    top_n: z
      .int()
      .min(1)
      .nullish()
      .meta({ description: 'How many of the best results to return; all by default' }),
    return_documents: z.boolean().nullish().meta({ description: 'Whether the results include their texts' }),
  })
  .meta({ id: 'RerankRequest' });

/** The documents ordered by how well they answer the query, best first. */
const rerankAnswer = z
  .looseObject({
    id: z.string().meta({ description: 'The generation id' }),
    model: z.string().meta({ description: 'The public model id' }),
    results: z
      .array(
        z
          .looseObject({
            index: z.int().min(0).meta({ description: 'Index of the document in the request, from 0' }),
            relevance_score: z
              .number()
              .meta({ description: "How well it answers, on the model's own scale: higher is better" }),
            document: z
              .object({ text: z.string().meta({ description: 'The text as it was sent' }) })
              .optional()
              .meta({ description: 'Present when return_documents is true' }),
          })
          .meta({ id: 'RerankResult' }),
      )
      .meta({ description: 'The documents, best first' }),
    usage: usageJson
      .extend({
        prompt_tokens: z.int().meta({ description: 'The same as input_tokens' }),
        cost: z
          .number()
          .meta({ description: 'In USD, as a number; charged_amount of the generation is exact' }),
      })
      .meta({ id: 'RerankUsage' })
      .meta({ description: 'Tokens and their cost' }),
  })
  .meta({ id: 'RerankAnswer' });

const PATH = '/api/v1/rerank';

export interface RerankRouteDependencies {
  readonly service: InvocationService;
  /** Maximum request body, in bytes. */
  readonly bodyBytesMax: number;
}

/** Rerank endpoint in the form that Cohere, Jina and OpenAI-compatible servers share. */
export function rerankRoutes({ service, bodyBytesMax }: RerankRouteDependencies): Route[] {
  const route = { dialect: 'rerank', endpoint: PATH, servedBy: ['rerank'], ignored: [] } as const;
  return [
    defineRoute({
      method: 'post',
      path: PATH,
      operationId: 'rerank',
      summary: 'Sort documents by how well they answer a query',
      description:
        'For models with the endpoint `rerank`. Only the input is charged, at the price `prompt`, plus `request` per call. The query counts once for each document.',
      tag: 'Invocation',
      access: 'inference',
      envelope: 'bare',
      body: rerankRequest,
      bodyBytesMax,
      requestHeaders: MAX_COST_HEADER,
      response: { status: 200, schema: rerankAnswer },
      errors: INVOCATION_ERRORS,
      idempotency: 'replay',
      async handle(context) {
        const { body, response } = context;
        const texts = documentTexts(body.documents);
        const invocation = await invocationOf(context, { ...body, documents: texts }, undefined, {
          ...route,
          ignored: unreadMembers(body.documents),
        });
        const presenter = rankingPresenter(
          body.top_n ?? texts.length,
          body.return_documents ? texts : undefined,
        );
        return service.complete(invocation, presenter, (headers) => response.set(headers));
      },
    }),
  ];
}

/** Presents the best `most` results, with their texts when `texts` are given: providers need not send them back. */
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

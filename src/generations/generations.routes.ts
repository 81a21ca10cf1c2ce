import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentGeneration } from './generations.presenter.ts';
import { generationQuery, generationResponse } from './generations.schema.ts';
import type { GenerationsService } from './generations.service.ts';

/** `/api/v1/generation`. */
export function generationRoutes(generations: GenerationsService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/generation',
      operationId: 'getGeneration',
      summary: 'Get what one call used and cost; never what was said in it',
      tag: 'Usage',
      access: 'inference',
      envelope: 'data',
      query: generationQuery,
      response: { status: 200, schema: generationResponse },
      errors: ['generation_not_found'],
      async handle({ principal, query }) {
        return { body: { data: presentGeneration(await generations.get(principal, query.id)) } };
      },
    }),
  ];
}

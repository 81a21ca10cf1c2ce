import { exportable } from '../http/answers/csv-export.ts';
import { linkHeader } from '../http/answers/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentGeneration, presentGenerations } from './generations.presenter.ts';
import {
  generationListResponse,
  generationQuery,
  generationResponse,
  listGenerationsQuery,
} from './generations.schema.ts';
import type { GenerationsService } from './generations.service.ts';

/** `/api/v1/generation`. */
export function generationRoutes(generations: GenerationsService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/generation',
      operationId: 'getGeneration',
      summary: 'Get the usage and cost of one call, never its content',
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
    exportable(
      defineRoute({
        method: 'get',
        path: '/api/v1/generations',
        operationId: 'listGenerations',
        summary: 'List ended calls with their usage and cost, newest first',
        tag: 'Usage',
        access: 'inference',
        envelope: 'data',
        query: listGenerationsQuery,
        response: { status: 200, schema: generationListResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          const page = await generations.list(principal, query);
          return { headers: linkHeader(url, page.next), body: presentGenerations(page) };
        },
      }),
    ),
  ];
}

import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentModel } from './catalog.presenter.ts';
import { listModelsQuery, modelListResponse, modelParams, modelResponse } from './catalog.schema.ts';
import type { CatalogService } from './catalog.service.ts';

/** `/api/v1/models`. */
export function catalogRoutes(catalog: CatalogService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/models',
      operationId: 'listModels',
      summary: 'List the models that this key may use, with their prices',
      tag: 'Models',
      access: 'inference',
      envelope: 'data',
      query: listModelsQuery,
      response: { status: 200, schema: modelListResponse },
      errors: [],
      async handle({ principal, query }) {
        return { body: { data: catalog.list(principal, query).map(presentModel) } };
      },
    }),
    defineRoute({
      method: 'get',
      path: '/api/v1/models/{model+}',
      operationId: 'getModel',
      summary: 'Get a model; its id may contain slashes, plain or percent-encoded',
      tag: 'Models',
      access: 'inference',
      envelope: 'data',
      params: modelParams,
      response: { status: 200, schema: modelResponse },
      errors: ['model_not_found'],
      async handle({ principal, params }) {
        return { body: { data: presentModel(catalog.get(principal, params.model)) } };
      },
    }),
  ];
}

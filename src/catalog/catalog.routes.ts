import type { z } from 'zod';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentAnthropicModel, presentModel, presentOpenAiModel } from './catalog.presenter.ts';
import {
  listModelsQuery,
  modelListResponse,
  modelParams,
  modelResponse,
  vendorModel,
  vendorModelList,
  vendorModelsQuery,
} from './catalog.schema.ts';
import type { CatalogService } from './catalog.service.ts';
import type { Model } from './catalog.types.ts';

/** Returns the routes of `/api/v1/models` and their vendor forms. */
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
        const data = catalog.list(principal, query).map(presentModel);
        return { body: { object: 'list', data, total_count: data.length, links: { next: null } } };
      },
    }),
    defineRoute({
      method: 'get',
      path: '/api/v1/models/{model+}',
      operationId: 'getModel',
      summary: 'Get a model; slashes in its id may be plain or percent-encoded',
      tag: 'Models',
      access: 'inference',
      envelope: 'data',
      params: modelParams,
      response: { status: 200, schema: modelResponse },
      errors: ['model_not_found'],
      async handle({ principal, params }) {
        const model = catalog.get(principal, params.model);
        return { body: { ...presentOpenAiModel(model), data: presentModel(model) } };
      },
    }),
    ...vendorRoutes(catalog),
  ];
}

/** Sent by Anthropic's clients: they get responses in Anthropic's format, all others in OpenAI's. */
const VERSION_HEADER = 'vendorx-version';

/** Returns the routes of `/vendorx/v1/models`, the target of the built-in alias `/v1/models`. */
function vendorRoutes(catalog: CatalogService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/vendorx/v1/models',
      operationId: 'listVendorModels',
      summary: "List the models in Anthropic's format (with its version header) or OpenAI's",
      tag: 'Models',
      access: 'inference',
      envelope: 'bare',
      query: vendorModelsQuery,
      response: { status: 200, schema: vendorModelList },
      errors: [],
      async handle({ principal, query, headers }) {
        const isAnthropic = headers[VERSION_HEADER] !== undefined;
        const models = catalog.list(principal, isAnthropic ? { endpoint: 'messages' } : {});
        const page = cutModels(models, query);
        const ends = {
          has_more: page.hasMore,
          first_id: page.models.at(0)?.id ?? null,
          last_id: page.models.at(-1)?.id ?? null,
        };
        return {
          body: isAnthropic
            ? { data: page.models.map(presentAnthropicModel), ...ends }
            : { object: 'list', data: page.models.map(presentModel), ...ends },
        };
      },
    }),
    defineRoute({
      method: 'get',
      path: '/vendorx/v1/models/{model+}',
      operationId: 'getVendorModel',
      summary: "Get a model in Anthropic's format (with its version header) or OpenAI's",
      tag: 'Models',
      access: 'inference',
      envelope: 'bare',
      params: modelParams,
      response: { status: 200, schema: vendorModel },
      errors: ['model_not_found'],
      async handle({ principal, params, headers }) {
        const model = catalog.get(principal, params.model);
        return {
          body: headers[VERSION_HEADER] === undefined ? presentModel(model) : presentAnthropicModel(model),
        };
      },
    }),
  ];
}

interface ModelPage {
  readonly models: readonly Model[];
  readonly hasMore: boolean;
}

/** Pages like Anthropic: models after an id, or the last ones before an id. An unknown id starts at the beginning. */
function cutModels(all: readonly Model[], query: z.output<typeof vendorModelsQuery>): ModelPage {
  const limit = query.limit ?? all.length;
  const place = (id: string) => all.findIndex((model) => model.id === id);
  if (query.before_id !== undefined && place(query.before_id) >= 0) {
    const before = all.slice(0, place(query.before_id));
    return { models: before.slice(-limit), hasMore: before.length > limit };
  }
  const rest = query.after_id === undefined ? all : all.slice(place(query.after_id) + 1);
  return { models: rest.slice(0, limit), hasMore: rest.length > limit };
}

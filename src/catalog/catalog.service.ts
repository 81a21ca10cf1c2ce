import type { Principal } from '../http/route.ts';
import type { Charge } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { NO_USAGE } from '../lib/usage.ts';
import type { Catalog, Model, ModelEndpoint } from './catalog.types.ts';
import { chargeFor } from './pricing.ts';

export interface ModelFilter {
  readonly category?: string | undefined;
  readonly endpoint?: ModelEndpoint | undefined;
  /** Case-insensitive part of id, name or description. */
  readonly q?: string | undefined;
}

/** What a task of an image or video model needs to know of it. */
export interface MediaModel {
  readonly id: string;
  readonly kind: 'image' | 'video';
  /** The engine that runs it. */
  readonly pool: string;
  readonly upstreamModel: string;
  readonly priceVersion: string;
  /** What one task costs. */
  readonly charge: Charge;
}

/** The models for sale, as of the catalog in force. */
export class CatalogService {
  readonly #current: () => Catalog;

  constructor(current: () => Catalog) {
    this.#current = current;
  }

  /** A model by its public id, whoever asks. */
  find(id: string): Model | undefined {
    return this.#current().models.get(id);
  }

  /**
   * The model a caller invokes. Throws AppError model_not_found (as 400: the model is a field of the call),
   * model_not_allowed.
   */
  invocable(id: string, caller: Pick<Principal, 'allowedModels'>): Model {
    const model = this.find(id);
    if (!model) {
      throw new AppError('model_not_found', `model: there is no model "${id.slice(0, 128)}".`, {
        status: 400,
      });
    }
    if (!mayUse(caller, model)) {
      throw new AppError('model_not_allowed', `model: this key may not use "${model.id}".`);
    }
    return model;
  }

  /** The image or video model of that id, priced per task. */
  findTaskModel(id: string, kind: 'image' | 'video'): MediaModel | undefined {
    const model = this.find(id);
    if (!model?.engine || !model.endpoints.includes(kind)) {
      return undefined;
    }
    const images = kind === 'image' ? 1 : 0;
    return {
      id: model.id,
      kind,
      pool: model.engine.engine,
      upstreamModel: model.engine.model,
      priceVersion: model.priceVersion,
      charge: chargeFor(NO_USAGE, { requests: 1, images, requestLine: kind }, model.pricing),
    };
  }

  /** A model that the caller may see. Throws AppError model_not_found. */
  get(principal: Principal, id: string): Model {
    const model = this.find(id);
    if (!model || !mayUse(principal, model)) {
      throw new AppError('model_not_found', 'There is no such model.');
    }
    return model;
  }

  /** The models that the caller may see, in the catalog's order. */
  list(principal: Principal, filter: ModelFilter): Model[] {
    const category = filter.category?.toLowerCase();
    const text = filter.q?.toLowerCase();
    return [...this.#current().models.values()].filter(
      (model) =>
        mayUse(principal, model) &&
        (category === undefined || model.categories.some((name) => name.toLowerCase() === category)) &&
        (filter.endpoint === undefined || model.endpoints.includes(filter.endpoint)) &&
        (text === undefined || searchText(model).includes(text)),
    );
  }
}

function mayUse(principal: Pick<Principal, 'allowedModels'>, model: Model): boolean {
  return principal.allowedModels === null || principal.allowedModels.includes(model.id);
}

function searchText(model: Model): string {
  return `${model.id}\n${model.name}\n${model.description}`.toLowerCase();
}

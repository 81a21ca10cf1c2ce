import { closest, distance } from 'fastest-levenshtein';
import { FieldError } from '../http/input/validate.ts';
import type { Principal } from '../http/route.ts';
import type { Charge } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { NO_USAGE } from '../lib/usage.ts';
import type { Catalog, EngineRoute, Model, ModelEndpoint } from './catalog.types.ts';
import { type MediaOptions, type MediaSize, pricesOf } from './media-options.ts';
import { chargeFor } from './pricing.ts';
import { type RunPolicy, runPolicy } from './run-policy.ts';

export interface ModelFilter {
  readonly category?: string | undefined;
  readonly endpoint?: ModelEndpoint | undefined;
  /** Case-insensitive part of id, name or description. */
  readonly q?: string | undefined;
}

/** The facts about an image or video model that its tasks need. */
export interface MediaModel {
  readonly id: string;
  readonly kind: 'image' | 'video';
  /** The engine whose queue orders enter first. */
  readonly pool: string;
  /** Every engine that orders may go to, in the catalog's order. */
  readonly pools: readonly string[];
  readonly upstreamModel: string;
  /** Time from the order until its unfinished task fails, in ms, even if it has not run yet. */
  readonly deadlineMs: number;
  readonly priceVersion: string;
  readonly options: MediaOptions;
  /** Returns what one order of that size and length (in seconds) costs. */
  charge(size: MediaSize, seconds: number | undefined): Charge;
}

/** The call for each endpoint, named in error messages. */
const CALLS: Readonly<Record<ModelEndpoint, (id: string) => string>> = {
  chat: () => 'POST /api/v1/chat/completions',
  messages: () => 'POST /vendorx/v1/messages',
  embeddings: () => 'POST /api/v1/embeddings',
  rerank: () => 'POST /api/v1/rerank',
  image: (id) => `POST /v3/async/${id}`,
  video: (id) => `POST /v3/async/video-fast with "model_name": "${id}"`,
};

/** Looks up the models for sale in the catalog in force. */
export class CatalogService {
  readonly #current: () => Catalog;
  /** Models by alias, built once per loaded catalog. */
  readonly #aliases = new WeakMap<Catalog['models'], ReadonlyMap<string, Model>>();

  constructor(current: () => Catalog) {
    this.#current = current;
  }

  /** All models, in the catalog's order. */
  get models(): Iterable<Model> {
    return this.#current().models.values();
  }

  /** Whether there is a text model whose calls are always free. */
  get hasFreeModel(): boolean {
    return [...this.#current().models.values()].some(
      ({ pricing, routes }) => routes.length > 0 && Object.values(pricing).every((price) => price === 0n),
    );
  }

  /** Returns a model by its public id or one of its aliases, without checking the caller's permissions. */
  find(id: string): Model | undefined {
    const { models } = this.#current();
    return models.get(id) ?? this.#aliased(models).get(id);
  }

  /** Returns the model a caller invokes. Throws AppError model_not_found (suggesting the model probably meant), model_not_allowed. */
  invocable(id: string, caller: Pick<Principal, 'allowedModels'>): Model {
    const model = this.find(id);
    if (!model) {
      throw new AppError('model_not_found', `model: ${this.#unknown(id, caller)}`);
    }
    if (!mayUse(caller, model)) {
      throw new AppError('model_not_allowed', `model: this key may not use "${model.id}".`);
    }
    return model;
  }

  /** Throws {@link FieldError} for a name that no model has, suggesting the model probably meant among those the caller may use. */
  requireModels(names: readonly string[], field: string, caller: Pick<Principal, 'allowedModels'>): void {
    for (const [index, name] of names.entries()) {
      if (!this.find(name)) {
        throw new FieldError(`${field}[${index}]`, this.#unknown(name, caller));
      }
    }
  }

  /**
   * Returns the image or video model that a caller orders from. Throws AppError model_not_found (suggesting the model probably meant),
   * model_not_allowed, or model_not_supported_on_endpoint for a model of another kind.
   */
  orderable(id: string, kind: 'image' | 'video', caller: Pick<Principal, 'allowedModels'>): MediaModel {
    const model = this.invocable(id, caller);
    const { media, pricing } = model;
    const [engine] = model.engines;
    if (!engine || !media || !model.endpoints.includes(kind)) {
      const [endpoint = 'chat'] = model.endpoints;
      throw new AppError(
        'model_not_supported_on_endpoint',
        `model: "${model.id}" does not make ${kind}s. Call it with ${CALLS[endpoint](model.id)}.`,
      );
    }
    return {
      id: model.id,
      kind,
      pool: engine.engine,
      pools: model.engines.map((route) => route.engine),
      upstreamModel: engine.model,
      deadlineMs: engine.runs.deadlineMs,
      priceVersion: model.priceVersion,
      options: media,
      charge: (size, seconds = 0) => {
        const { request, image, second } = pricesOf(media, size);
        const units = { requests: 1, images: kind === 'image' ? 1 : 0, requestLine: kind };
        return chargeFor(NO_USAGE, units, {
          ...pricing,
          request: request + second * BigInt(seconds),
          image,
        });
      },
    };
  }

  /** Returns the run policy of the route a task is on; the default for its kind if that route no longer exists. */
  runPolicyOf(task: {
    readonly model: string;
    readonly kind: 'image' | 'video';
    readonly pool: string;
  }): RunPolicy {
    return this.#engineRouteOf(task)?.runs ?? runPolicy(task.kind);
  }

  /** Returns the members that the task's route adds to the body of its order. */
  extraOf(task: { readonly model: string; readonly pool: string }): EngineRoute['extra'] {
    return this.#engineRouteOf(task)?.extra;
  }

  /** Returns a model that the caller may see. Throws AppError model_not_found. */
  get(principal: Principal, id: string): Model {
    const model = this.find(id);
    if (!model || !mayUse(principal, model)) {
      throw new AppError('model_not_found', 'There is no such model.');
    }
    return model;
  }

  /** Returns the models that the caller may see, in the catalog's order. */
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

  #aliased(models: Catalog['models']): ReadonlyMap<string, Model> {
    let aliased = this.#aliases.get(models);
    if (!aliased) {
      aliased = new Map([...models.values()].flatMap((model) => model.aliases.map((name) => [name, model])));
      this.#aliases.set(models, aliased);
    }
    return aliased;
  }

  /** Returns the message for an unknown id, suggesting the most similar id among those the caller may use, if any is similar. */
  #unknown(id: string, caller: Pick<Principal, 'allowedModels'>): string {
    const meant = this.#nearest(id, caller);
    const hint =
      meant === undefined ? 'GET /api/v1/models lists the available models.' : `Did you mean "${meant}"?`;
    return `there is no model "${id.slice(0, 128)}". ${hint}`;
  }

  #nearest(id: string, caller: Pick<Principal, 'allowedModels'>): string | undefined {
    const asked = id.trim().toLowerCase().slice(0, 128);
    const known = [...this.#current().models.values()]
      .filter((model) => mayUse(caller, model))
      .flatMap((model) => [model.id, ...model.aliases]);
    const named = known.find((name) => name.toLowerCase().split('/').at(-1) === asked.split('/').at(-1));
    if (asked === '' || named !== undefined || known.length === 0) {
      return named;
    }
    const nearest = closest(asked, known);
    return distance(asked, nearest.toLowerCase()) <= Math.max(2, asked.length / 4) ? nearest : undefined;
  }

  /** Returns the route that a task is on; undefined if that route no longer exists. */
  #engineRouteOf({
    model,
    pool,
  }: {
    readonly model: string;
    readonly pool: string;
  }): EngineRoute | undefined {
    return this.find(model)?.engines.find(({ engine }) => engine === pool);
  }
}

function mayUse(principal: Pick<Principal, 'allowedModels'>, model: Model): boolean {
  const { allowedModels } = principal;
  return allowedModels === null || [model.id, ...model.aliases].some((name) => allowedModels.includes(name));
}

function searchText(model: Model): string {
  return `${model.id}\n${model.aliases.join('\n')}\n${model.name}\n${model.description}`.toLowerCase();
}

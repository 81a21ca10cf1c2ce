import { closest, distance } from 'fastest-levenshtein';
import { FieldError } from '../http/input/field-error.ts';
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

/** What a task of an image or video model needs to know of it. */
export interface MediaModel {
  readonly id: string;
  readonly kind: 'image' | 'video';
  /** The engine that orders wait for first. */
  readonly pool: string;
  /** Every engine that they may go to, in the catalog's order. */
  readonly pools: readonly string[];
  readonly upstreamModel: string;
  /** Ms from the order after which its task fails, unrun or unfinished. */
  readonly deadlineMs: number;
  readonly priceVersion: string;
  readonly options: MediaOptions;
  /** What one order of that size and length (seconds) costs. */
  charge(size: MediaSize, seconds: number | undefined): Charge;
}

/** How each kind of model is called. */
const CALLS: Readonly<Record<ModelEndpoint, (id: string) => string>> = {
  chat: () => 'POST /api/v1/chat/completions',
  messages: () => 'POST /vendorx/v1/messages',
  embeddings: () => 'POST /api/v1/embeddings',
  rerank: () => 'POST /api/v1/rerank',
  image: (id) => `POST /v3/async/${id}`,
  video: (id) => `POST /v3/async/video-fast with "model_name": "${id}"`,
};

/** The models for sale, as of the catalog in force. */
export class CatalogService {
  readonly #current: () => Catalog;
  /** By the models they belong to: made once for each reading of the file. */
  readonly #aliases = new WeakMap<Catalog['models'], ReadonlyMap<string, Model>>();

  constructor(current: () => Catalog) {
    this.#current = current;
  }

  /** All of them, in the catalog's order. */
  get models(): Iterable<Model> {
    return this.#current().models.values();
  }

  /** Whether there is a text model that costs nothing whatever is sent. */
  get hasFreeModel(): boolean {
    return [...this.#current().models.values()].some(
      ({ pricing, routes }) => routes.length > 0 && Object.values(pricing).every((price) => price === 0n),
    );
  }

  /** A model by its public id or one of its aliases, whoever asks. */
  find(id: string): Model | undefined {
    const { models } = this.#current();
    return models.get(id) ?? this.#aliased(models).get(id);
  }

  /** The model a caller invokes. Throws AppError model_not_found (with the model that was probably meant), model_not_allowed. */
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

  /** Throws {@link FieldError} for a name that no model has, with the one that was probably meant of those the caller may use. */
  requireModels(names: readonly string[], field: string, caller: Pick<Principal, 'allowedModels'>): void {
    for (const [index, name] of names.entries()) {
      if (!this.find(name)) {
        throw new FieldError(`${field}[${index}]`, this.#unknown(name, caller));
      }
    }
  }

  /**
   * The image or video model that a caller orders from. Throws AppError model_not_found (with the model that was probably meant),
   * model_not_allowed, and model_not_supported_on_endpoint for a model of another kind.
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

  /** How the runs of a task are tried: by the route it is on, or as for any model of its kind where there is no such route any more. */
  runPolicyOf(task: {
    readonly model: string;
    readonly kind: 'image' | 'video';
    readonly pool: string;
  }): RunPolicy {
    return this.#engineRouteOf(task)?.runs ?? runPolicy(task.kind);
  }

  /** What the route that a task is on adds to the body of its order. */
  extraOf(task: { readonly model: string; readonly pool: string }): EngineRoute['extra'] {
    return this.#engineRouteOf(task)?.extra;
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

  #aliased(models: Catalog['models']): ReadonlyMap<string, Model> {
    let aliased = this.#aliases.get(models);
    if (!aliased) {
      aliased = new Map([...models.values()].flatMap((model) => model.aliases.map((name) => [name, model])));
      this.#aliases.set(models, aliased);
    }
    return aliased;
  }

  /** The id most like a wrong one among those the caller may use; undefined when none is like it. */
  #unknown(id: string, caller: Pick<Principal, 'allowedModels'>): string {
    const meant = this.#nearest(id, caller);
    const hint =
      meant === undefined ? 'GET /api/v1/models lists those there are.' : `Did you mean "${meant}"?`;
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

  /** The route that a task is on; undefined where there is no such route any more. */
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

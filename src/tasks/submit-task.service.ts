import { randomInt } from 'node:crypto';
import type { Principal } from '../http/route.ts';
import type { HoldRequest, Ledger } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { newUuid } from '../lib/ids.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { storeParameters } from './task-parameters.ts';
import type { TaskCatalog, TaskKind, TaskModel } from './tasks.types.ts';

export interface SubmitSettings {
  /** Ms from submit after which a task fails unrun or unfinished. */
  readonly deadlineMs: Readonly<Record<TaskKind, number>>;
}

/** A submit after its endpoint's schema has let it through. */
export interface TaskSubmit {
  readonly endpoint: string;
  readonly kind: TaskKind;
  readonly model: string;
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number | undefined;
  /** −1 = choose one, up to `seedMax`. */
  readonly seed: number;
  readonly seedMax: number;
  readonly base64Output: boolean;
  readonly webhookUrl: string | null;
}

export interface SubmitContext {
  readonly principal: Principal;
  readonly requestId: string;
  readonly signal: StopSignal;
  /** The id to use, where one was promised for the request's Idempotency-Key. */
  readonly generationId?: string | undefined;
}

/** Takes orders: one statement holds the money and inserts the task. Redis has no part in it. */
export class SubmitTaskService {
  readonly #ledger: Pick<Ledger, 'reserve'>;
  readonly #catalog: TaskCatalog;
  readonly #settings: SubmitSettings;

  constructor(ledger: Pick<Ledger, 'reserve'>, catalog: TaskCatalog, settings: SubmitSettings) {
    this.#ledger = ledger;
    this.#catalog = catalog;
    this.#settings = settings;
  }

  /** Returns the task's id (UUID). Throws AppError: model_not_found, model_not_allowed, and what Ledger.reserve throws. */
  async submit(order: TaskSubmit, context: SubmitContext): Promise<string> {
    const { principal } = context;
    const model = this.#catalog.findTaskModel(order.model, order.kind);
    if (!model) {
      throw new AppError('model_not_found', `The model ${order.model} is not offered here.`);
    }
    if (principal.allowedModels && !principal.allowedModels.includes(model.id)) {
      throw new AppError('model_not_allowed', `This key may not use ${model.id}.`);
    }
    const id = context.generationId ?? newUuid();
    try {
      await this.#ledger.reserve(this.#holdRequest(id, order, model, context), context.signal);
    } catch (error) {
      // an earlier request under the same Idempotency-Key has taken the order, and its task has ended since
      if (!(error instanceof AppError && error.code === 'idempotency_completed')) {
        throw error;
      }
    }
    return id;
  }

  #holdRequest(
    id: string,
    order: TaskSubmit,
    model: TaskModel,
    { principal, requestId }: SubmitContext,
  ): HoldRequest {
    return {
      id,
      accountId: principal.accountId,
      apiKeyId: principal.apiKeyId,
      requestId,
      endpoint: order.endpoint,
      model: model.id,
      priceVersion: model.priceVersion,
      amount: model.charge.amount,
      minimum: model.charge.amount,
      task: {
        kind: order.kind,
        pool: model.pool,
        parameters: storeParameters({
          prompt: order.prompt,
          width: order.width,
          height: order.height,
          steps: order.steps,
          upstreamModel: model.upstreamModel,
          base64Output: order.base64Output,
          chargeLines: model.charge.lines,
        }),
        // Resolved now, not by the engine: a second attempt must make the same picture.
        seed: BigInt(order.seed === -1 ? randomInt(0, order.seedMax + 1) : order.seed),
        webhookUrl: order.webhookUrl,
        deadlineAtMs: Date.now() + this.#settings.deadlineMs[order.kind],
      },
    };
  }
}

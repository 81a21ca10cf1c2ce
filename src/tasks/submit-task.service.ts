import { randomInt } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { MediaModel } from '../catalog/catalog.service.ts';
import { maxCostOf, requireMaxCost } from '../http/input/max-cost.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import type { Principal } from '../http/route.ts';
import type { HoldRequest, Ledger } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { newOwnedUuid } from '../lib/ids.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { QueueCapacity, type TaskQueue } from './queue-capacity.ts';
import { storeParameters } from './task-parameters.ts';
import type { TaskCatalog, TaskKind } from './tasks.types.ts';

/** Seconds after which an account with a full queue may retry. */
const QUEUE_RETRY_SECONDS = 10;

export interface SubmitSettings {
  /** Returns how many tasks of an account may wait for one pool, unless the account has a limit of its own. */
  readonly queuedTasksMax: () => number;
  /** Throws AppError service_unavailable if none of these pools can make anything until an operator fixes it. */
  readonly requireWorkingPool?: (pools: readonly string[]) => Promise<void>;
  /** Called for every accepted order with the pools that can serve it. */
  readonly onOrder?: (pools: readonly string[]) => void;
}

/** An order that its model's schema has accepted. */
export interface TaskSubmit {
  readonly endpoint: string;
  readonly model: MediaModel;
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number | undefined;
  /** Length of a video in seconds; undefined for the engine's default. */
  readonly seconds: number | undefined;
  /** −1 lets the service choose one, up to the model's largest. */
  readonly seed: number;
  readonly base64Output: boolean;
  readonly webhookUrl: string | null;
}

export interface SubmitContext {
  readonly principal: Principal;
  readonly requestId: string;
  readonly signal: StopSignal;
  /** Of the request: `x-max-cost` limits what the order may cost. */
  readonly headers: IncomingHttpHeaders;
  /** The id to use, if one was promised for the request's Idempotency-Key. */
  readonly generationId?: string | undefined;
  /** Adds facts about the order to the request's log line. */
  readonly note?: (facts: RequestFacts) => void;
}

/** Accepts orders: one statement holds the money and inserts the task. Redis is not involved. */
export class SubmitTaskService {
  readonly #ledger: Pick<Ledger, 'reserve'>;
  readonly #catalog: TaskCatalog;
  readonly #room: QueueCapacity;
  readonly #settings: SubmitSettings;

  constructor(
    ledger: Pick<Ledger, 'reserve'>,
    catalog: TaskCatalog,
    queue: TaskQueue,
    settings: SubmitSettings,
  ) {
    this.#ledger = ledger;
    this.#catalog = catalog;
    this.#room = new QueueCapacity(queue);
    this.#settings = settings;
  }

  /**
   * Returns the model that an order names. Throws AppError: model_not_found, model_not_allowed, and model_not_supported_on_endpoint
   * for a model that makes something else.
   */
  model(id: string, kind: TaskKind, principal: Principal): MediaModel {
    return this.#catalog.orderable(id, kind, principal);
  }

  /**
   * Submits an order. Returns the task's id (UUID). Throws AppError max_cost_exceeded, invalid_parameter (for its header),
   * rate_limit_exceeded, service_unavailable, and what Ledger.reserve throws.
   */
  async submit(order: TaskSubmit, context: SubmitContext): Promise<string> {
    const id = context.generationId ?? newOwnedUuid(context.principal.accountId);
    const hold = this.#holdRequest(id, order, context);
    requireMaxCost(maxCostOf(context.headers), hold.amount);
    await this.#settings.requireWorkingPool?.(order.model.pools);
    await this.#requireRoom(order.model.pool, context.principal);
    try {
      await this.#ledger.reserve(hold, context.signal);
    } catch (error) {
      // an earlier request with the same Idempotency-Key placed the order, and its task has ended since
      if (!(error instanceof AppError && error.code === 'idempotency_completed')) {
        throw error;
      }
    }
    this.#settings.onOrder?.(order.model.pools);
    return id;
  }

  /**
   * Throws AppError rate_limit_exceeded when the queue is full. Concurrent orders may pass together, bounded by the account's
   * concurrency.
   */
  async #requireRoom(pool: string, { accountId, rateLimits }: Principal): Promise<void> {
    const most = rateLimits.queuedTasks ?? this.#settings.queuedTasksMax();
    if (!(await this.#room.take(pool, accountId, most))) {
      throw new AppError(
        'rate_limit_exceeded',
        `${most} tasks of this account are already waiting: order more when some have ended`,
        {
          retryAfterSeconds: QUEUE_RETRY_SECONDS,
        },
      );
    }
  }

  #holdRequest(id: string, order: TaskSubmit, { principal, requestId }: SubmitContext): HoldRequest {
    const { model, width, height, seconds } = order;
    const charge = model.charge({ width, height }, seconds);
    return {
      id,
      accountId: principal.accountId,
      apiKeyId: principal.apiKeyId,
      requestId,
      endpoint: order.endpoint,
      model: model.id,
      priceVersion: model.priceVersion,
      amount: charge.amount,
      minimum: charge.amount,
      task: {
        kind: model.kind,
        pool: model.pool,
        parameters: storeParameters({
          prompt: order.prompt,
          width,
          height,
          steps: order.steps,
          seconds,
          upstreamModel: model.upstreamModel,
          base64Output: order.base64Output,
          chargeLines: charge.lines,
        }),
        // Chosen now, not by the engine: a second attempt must make the same image.
        seed: BigInt(order.seed === -1 ? randomInt(0, model.options.seedMax + 1) : order.seed),
        webhookUrl: order.webhookUrl,
        deadlineMs: model.deadlineMs,
      },
    };
  }
}

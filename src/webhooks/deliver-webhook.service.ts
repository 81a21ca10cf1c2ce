import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { presentAlert } from './alerts.presenter.ts';
import { nextTryMs } from './retry-schedule.ts';
import type { ClaimedDelivery, WebhookDeliveriesStore } from './webhook-deliveries.store.ts';
import type { WebhookSecretsService } from './webhook-secrets.service.ts';
import type { TryResult, WebhookSender } from './webhook-sender.ts';
import { webhookSignatureHeaders } from './webhook-signature.ts';

/** Builds the task-result body of a task as it is now, with fresh URLs. Throws AppError task_not_found when the task is gone. */
export type BuildEventPayload = (taskId: string) => Promise<object>;

export interface DeliverWebhookDependencies {
  readonly deliveries: WebhookDeliveriesStore;
  readonly secrets: WebhookSecretsService;
  readonly sender: WebhookSender;
  readonly buildPayload: BuildEventPayload;
  readonly clock: Clock;
  readonly log: Logger;
}

export type DeliverOutcome = 'skipped' | 'delivered' | 'retrying' | 'failed';

/** The event type for tasks. */
export const TASK_EVENT = 'ASYNC_TASK_RESULT';
/** Ms for which a try belongs to its worker: longer than a try can take. */
const LEASE_MS = 30_000;
const GONE: TryResult = { status: null, error: 'task_deleted', retryable: false, durationMs: 0 };

/** Delivers events to customers' endpoints: at least once, signed, with retries that outlast an outage of several hours. */
export class DeliverWebhookService {
  readonly #dependencies: DeliverWebhookDependencies;

  constructor(dependencies: DeliverWebhookDependencies) {
    this.#dependencies = dependencies;
  }

  /** Makes one try. Repeated calls for the same delivery are harmless. */
  async deliver(deliveryId: string): Promise<DeliverOutcome> {
    const { deliveries, log } = this.#dependencies;
    const delivery = await deliveries.claim(deliveryId, LEASE_MS);
    if (!delivery) {
      return 'skipped';
    }
    const result = await this.#send(delivery);
    if (result.error === null) {
      await deliveries.recordTry(delivery, result, 'delivered', 0);
      return 'delivered';
    }
    const waitMs = result.retryable ? nextTryMs(delivery.tries) : undefined;
    const ids = {
      deliveryId,
      taskId: delivery.subject.taskId,
      event: delivery.event,
      try: delivery.tries,
      reason: result.error,
    };
    if (waitMs === undefined) {
      await deliveries.recordTry(delivery, result, 'failed', 0);
      log.warn(ids, 'giving up on a webhook delivery');
      return 'failed';
    }
    await deliveries.recordTry(delivery, result, 'pending', waitMs);
    log.info(ids, 'a webhook delivery failed and will be retried');
    return 'retrying';
  }

  async #send(delivery: ClaimedDelivery): Promise<TryResult> {
    const { secrets, sender, clock } = this.#dependencies;
    const payload = await this.#payload(delivery);
    if (!payload) {
      return GONE;
    }
    const { secret, previousSecret } = await secrets.get(delivery.accountId);
    const body = JSON.stringify({ event_type: delivery.event, payload });
    const id = publicId('webhookDelivery', delivery.id);
    const signing = previousSecret === null ? [secret] : [secret, previousSecret];
    const headers = webhookSignatureHeaders(id, Math.floor(clock.now() / 1_000), body, signing);
    return await sender.send(delivery.url, headers, body);
  }

  async #payload({ event, subject }: ClaimedDelivery): Promise<object | undefined> {
    if (subject.taskId === null) {
      return presentAlert(event, subject.facts);
    }
    try {
      return await this.#dependencies.buildPayload(subject.taskId);
    } catch (error) {
      if (error instanceof AppError && error.code === 'task_not_found') {
        return undefined;
      }
      throw error;
    }
  }
}

import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** One try at a webhook delivery. */
export function deliverWebhookProcessor(
  services: Pick<WorkerServices, 'webhooks'>,
): Processor<'webhooks.deliver'> {
  return ({ deliveryId }) => services.webhooks.deliver(deliveryId);
}

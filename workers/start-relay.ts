import { deliverWebhook } from '../queues/jobs/deliver-webhook.job.ts';
import { generateTask } from '../queues/jobs/generate-task.job.ts';
import { postprocessTask } from '../queues/jobs/postprocess-task.job.ts';
import type { Producer } from '../queues/producer.ts';
import { queueName } from '../queues/queue-name.ts';
import { Relay, type RelaySettings } from '../queues/relay.ts';
import { defineLane, type RelayLane } from '../queues/relay-lane.ts';
import { ThrottledLog } from './throttled-log.ts';
import type { WorkerParts } from './worker-parts.ts';

/** The relay of this installation: a lane per engine pool, one for post-processing, one for webhooks. */
export function startRelay(
  parts: Pick<WorkerParts, 'engines' | 'dispatch' | 'deliveries' | 'log'>,
  producer: Producer,
  settings: RelaySettings | undefined,
): Relay {
  const { engines, dispatch, deliveries, log } = parts;
  const lanes: RelayLane[] = engines.names.map((pool) =>
    defineLane({
      queue: queueName('generate', pool),
      contract: generateTask,
      source: dispatch.queued(pool),
      toPayload: ({ id, ...ticket }) => ({ taskId: id, ...ticket }),
    }),
  );
  lanes.push(
    defineLane({
      queue: queueName('postprocess'),
      contract: postprocessTask,
      source: dispatch.generated(),
      toPayload: ({ id, ...ticket }) => ({ taskId: id, ...ticket }),
    }),
    defineLane({
      queue: queueName('webhooks'),
      contract: deliverWebhook,
      source: deliveries.due(),
      toPayload: ({ id, ...ticket }) => ({ deliveryId: id, ...ticket }),
    }),
  );
  const throttledLog = new ThrottledLog(log);
  return new Relay({
    producer,
    lanes,
    liveSlots: () => dispatch.liveSlots(),
    onError: (error, queue) => throttledLog.warn(error, queue),
    ...(settings ? { settings } : {}),
  });
}

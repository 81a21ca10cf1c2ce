import { deliverWebhook, generateTask, postprocessTask } from '../queues/catalog.ts';
import type { Producer } from '../queues/producer.ts';
import { queueName } from '../queues/queue-name.ts';
import { Relay, type RelaySettings } from '../queues/relay.ts';
import { defineFeed, type RelayFeed } from '../queues/relay-feed.ts';
import { ThrottledLog } from './throttled-log.ts';
import type { WorkerParts } from './worker-parts.ts';

/** Starts the relay of this installation: one feed per engine pool, one for post-processing, one for webhooks. */
export function startRelay(
  parts: Pick<WorkerParts, 'engines' | 'dispatch' | 'deliveries' | 'log'>,
  producer: Producer,
  settings: RelaySettings | undefined,
): Relay {
  const { engines, dispatch, deliveries, log } = parts;
  const feeds: RelayFeed[] = engines.names.map((pool) =>
    defineFeed({
      queue: queueName('generate', pool),
      contract: generateTask,
      source: dispatch.queued(pool),
      toPayload: ({ id, ...ticket }) => ({ taskId: id, ...ticket }),
    }),
  );
  feeds.push(
    defineFeed({
      queue: queueName('postprocess'),
      contract: postprocessTask,
      source: dispatch.generated(),
      toPayload: ({ id, ...ticket }) => ({ taskId: id, ...ticket }),
    }),
    defineFeed({
      queue: queueName('webhooks'),
      contract: deliverWebhook,
      source: deliveries.due(),
      toPayload: ({ id, ...ticket }) => ({ deliveryId: id, ...ticket }),
    }),
  );
  const throttledLog = new ThrottledLog(log);
  return new Relay({
    producer,
    feeds,
    liveSlots: () => dispatch.liveSlots(),
    onError: (error, queue) => throttledLog.warn(error, queue),
    ...(settings ? { settings } : {}),
  });
}

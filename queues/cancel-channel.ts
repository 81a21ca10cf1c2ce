import type { Redis } from 'ioredis';

/** Tells the worker that runs a task to stop it. Only a hint: the worker also reads the flag in the task's row. */
export interface CancelPublisher {
  publish(taskId: string): Promise<void>;
}

const TASK_ID_PATTERN = /^[0-9a-f-]{36}$/;

/** Publishes on a fail-fast connection that the caller owns. A lost message delays the cancel by one heartbeat, so it is not an error. */
export function createCancelPublisher(connection: Redis, prefix: string): CancelPublisher {
  return {
    publish: async (taskId) => {
      try {
        await connection.publish(channelName(prefix), taskId);
      } catch {
        // The flag in the row decides.
      }
    },
  };
}

/** Calls `onCancel` for each published task id. The returned function unsubscribes; the caller owns the connection. */
export function listenForCancels(
  subscriber: Redis,
  prefix: string,
  onCancel: (taskId: string) => void,
): () => Promise<void> {
  const channel = channelName(prefix);
  const onMessage = (from: string, message: string): void => {
    if (from === channel && TASK_ID_PATTERN.test(message)) {
      onCancel(message);
    }
  };
  subscriber.on('message', onMessage);
  // ioredis resubscribes by itself after each reconnect.
  subscriber.subscribe(channel).catch(() => undefined);
  return async () => {
    subscriber.off('message', onMessage);
    if (subscriber.status === 'ready') {
      await subscriber.unsubscribe(channel).catch(() => undefined);
    }
  };
}

function channelName(prefix: string): string {
  return `${prefix}.cancel`;
}

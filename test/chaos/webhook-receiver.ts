import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A customer's endpoint on the loopback address that accepts everything. */
export interface WebhookReceiver {
  readonly url: string;
  /** Number of times each event arrived, by its id. */
  readonly seen: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const seen = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    seen.set(id, (seen.get(id) ?? 0) + 1);
    request.resume();
    request.on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    seen,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

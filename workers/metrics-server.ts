import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { isPrivateAddress } from '../src/lib/ip-address.ts';
import type { Logger } from '../src/lib/logger.ts';
import { VERSION } from '../src/lib/version.ts';
import { listenFailure } from '../src/processes/listen-failure.ts';

export interface MetricsServerOptions {
  readonly host: string;
  /** The setting that `host` comes from. */
  readonly hostSetting: 'HOST' | 'METRICS_HOST';
  /** 0 picks any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** Whether the process takes work. */
  readonly isReady: () => boolean;
  readonly log: Logger;
}

export interface MetricsServer {
  readonly port: number;
  close(): void;
}

const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 50;

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of a worker process, the last only to private networks. A draining worker is healthy
 * but not ready, so that it is not killed while it shuts down. Throws ConfigError or UnavailableError if it cannot
 * listen there.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host, log } = options;
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      answer(options, request, response).catch((error: unknown) => {
        log.warn({ error }, 'the metrics could not be written');
        send(response, 500, 'text/plain', 'internal error\n');
      });
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    const { port, hostSetting } = options;
    const place = { host, port, hostSetting, portSetting: 'WORKER_PORT' } as const;
    server.once('error', (error) => reject(listenFailure(error, place)));
    server.listen(port, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  log.info({ host, port }, 'worker page: /healthz, /readyz, /metrics');
  return {
    port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  { registry, isReady }: MetricsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (request.method !== 'GET') {
    send(response, 405, 'text/plain', 'method not allowed\n');
  } else if (path === '/healthz') {
    send(response, 200, 'application/json', JSON.stringify({ status: 'ok', version: VERSION }));
  } else if (path === '/readyz') {
    const ready = isReady();
    send(
      response,
      ready ? 200 : 503,
      'application/json',
      JSON.stringify({ status: ready ? 'ready' : 'unready' }),
    );
  } else if (path === '/metrics' && isPrivateAddress(request.socket.remoteAddress ?? '')) {
    send(response, 200, registry.contentType, await registry.metrics());
  } else {
    send(response, 404, 'text/plain', 'not found\n');
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(body);
}

import type { RequestListener } from 'node:http';
import { Counter, type Registry } from 'prom-client';
import { OVERLOAD_RETRY_SECONDS, overloaded } from '../lib/overload.ts';
import { envelopeOfPath, errorBody } from './envelope.ts';
import { effectiveRequestId } from './request-id.ts';
import type { Route } from './route.ts';

export interface LoadSheddingOptions {
  readonly listener: RequestListener;
  readonly routes: readonly Route[];
  /** The route's path behind an alias, by those in force: asked at every POST that is not for a paid path itself. */
  readonly resolve: (path: string) => string;
  readonly throttle: {
    /** Asked for each paid call: whether it is taken on. */
    admits(): boolean;
    /** Told when a call that was taken on has ended. */
    finished(): void;
  };
  readonly registry: Registry;
}

const REFUSAL = overloaded();

/**
 * Turns new paid calls away while the process is overloaded, before they cost anything: no authentication, no log line, no
 * body read. Settlements, payment events, reads and operators go on.
 */
export function shedLoad(options: LoadSheddingOptions): RequestListener {
  const { listener, throttle, resolve } = options;
  const paid = paidPaths(options.routes);
  const shed = new Counter({
    name: 'tollgate_http_requests_shed_total',
    help: 'Paid calls turned away with 503 because the process had more work than it can do',
    registers: [options.registry],
  });
  return (request, response) => {
    const [asked = ''] = (request.url ?? '').split('?', 1);
    const path = request.method === 'POST' && !paid.has(asked) ? resolve(asked) : asked;
    if (request.method !== 'POST' || !paid.has(path)) {
      listener(request, response);
      return;
    }
    if (throttle.admits()) {
      response.once('close', throttle.finished);
      listener(request, response);
      return;
    }
    shed.inc();
    const requestId = effectiveRequestId(request.headers['x-request-id']);
    const body = JSON.stringify(errorBody(REFUSAL, requestId, envelopeOfPath(path)));
    response.writeHead(REFUSAL.status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'Retry-After': OVERLOAD_RETRY_SECONDS,
      'x-should-retry': 'true',
      'x-request-id': requestId,
    });
    response.end(body);
  };
}

function paidPaths(routes: readonly Route[]): ReadonlySet<string> {
  const paid = routes.filter((route) => route.idempotency !== undefined && route.access === 'inference');
  return new Set(paid.map(({ path }) => path));
}

import type { RequestListener } from 'node:http';
import { AppError } from '../lib/errors.ts';
import { envelopeOfPath, errorBody } from './answers/envelope.ts';
import { requestIdOf } from './exchange.ts';

const PATHS = new Set(['/healthz', '/readyz', '/metrics']);
const REFUSAL = new AppError(
  'route_not_found',
  `this address is for monitoring: it serves only ${[...PATHS].join(', ')}`,
);

/** Passes on requests of the monitoring paths and answers all others with 404. */
export function monitoringListener(listener: RequestListener): RequestListener {
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (PATHS.has(path)) {
      listener(request, response);
      return;
    }
    const { text: requestId } = requestIdOf(request.headers['x-request-id']);
    response.writeHead(REFUSAL.status, {
      'Content-Type': 'application/json; charset=utf-8',
      'x-request-id': requestId,
    });
    response.end(JSON.stringify(errorBody(REFUSAL, requestId, envelopeOfPath(path))));
  };
}

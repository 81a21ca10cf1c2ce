import type { Route } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Tracing } from '../lib/tracing.ts';

/** Wraps a route's handler with a span that continues the caller's `traceparent`. */
export function tracedRoute(route: Route, tracing: Tracing): Route {
  if (!tracing.enabled) {
    return route;
  }
  const method = route.method.toUpperCase();
  const makesGeneration = route.access === 'inference' && route.idempotency !== undefined;
  return {
    ...route,
    handle: (context) => {
      const parent = context.headers.traceparent;
      const options = {
        kind: 'server',
        parent: typeof parent === 'string' ? parent : undefined,
        facts: {
          'http.request.method': method,
          'http.route': route.path,
          'tollgate.request_id': context.requestId,
          ...(makesGeneration && {
            'tollgate.generation_id': publicId('generation', context.generationId),
          }),
        },
      } as const;
      return tracing.span(`${method} ${route.path}`, options, async (span) => {
        try {
          const [, traceId] = tracing.current()?.split('-') ?? [];
          if (traceId !== undefined) {
            context.note({ traceId });
          }
          const reply = await route.handle(context);
          span.add({ 'http.response.status_code': reply?.status ?? route.response.status });
          return reply;
        } catch (error) {
          span.add({ 'http.response.status_code': error instanceof AppError ? error.status : 500 });
          throw error;
        }
      });
    },
  };
}

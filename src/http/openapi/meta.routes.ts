import type { Response } from 'express';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { isPrivateAddress } from '../../lib/ip-address.ts';
import { VERSION } from '../../lib/version.ts';
import type { Authenticator } from '../callers/authenticator.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { docsRoutes } from './docs.routes.ts';
import { type ApiDescription, openApiDocument } from './openapi.ts';
import type { JsonSchema } from './openapi-portable.ts';

/** The state of each part: true when it works. */
export interface ReadinessReport {
  /** Parts that must work before this process should get requests. */
  readonly checks: Readonly<Record<string, boolean>>;
  /** Parts that calls can be served without, reported for information. */
  readonly optional: Readonly<Record<string, boolean>>;
}

export interface MetaOptions {
  /** Must not reject. */
  readonly readiness: () => Promise<ReadinessReport>;
  readonly metrics: Pick<Registry, 'contentType' | 'metrics'>;
  readonly authenticator: Pick<Authenticator, 'operator'>;
  readonly about: ApiDescription;
  /** Folder of the viewer of `/docs`; defaults to where the build puts it. */
  readonly viewerFolder?: string;
}

const meta = { method: 'get', tag: 'Service', access: 'public', envelope: 'bare' } as const;

const health = z.object({
  status: z
    .literal('ok')
    .meta({ description: 'The process answers; /readyz says whether it can serve requests' }),
  version: z.string().meta({ description: 'Running version of Tollgate' }),
});
const readiness = z.object({
  status: z.enum(['ready', 'unready']).meta({ description: 'unready comes with status 503' }),
  checks: z
    .record(z.string(), z.boolean())
    .meta({ description: 'Parts that must work, by name: true when they do' }),
  optional: z
    .record(z.string(), z.boolean())
    .meta({ description: 'Parts that calls can be served without, by name: true when they work' }),
});
const openApi = z.looseObject({
  openapi: z.string().meta({ description: 'Version of the OpenAPI specification' }),
});

/** Returns the routes for health, metrics and the API's own description. `routes` are the other routes to describe. */
export function metaRoutes(options: MetaOptions, routes: readonly Route[]): Route[] {
  const own: Route[] = [...healthRoutes(options), metricsRoute(options)];
  let described: JsonSchema | undefined;
  const document = (): JsonSchema => {
    described ??= openApiDocument([...routes, ...own], options.about);
    return described;
  };
  own.push(descriptionRoute(document), ...docsRoutes(document, options.viewerFolder));
  return own;
}

function healthRoutes(options: MetaOptions): Route[] {
  return [
    defineRoute({
      ...meta,
      path: '/healthz',
      operationId: 'getHealth',
      summary: 'Whether the process runs',
      response: { status: 200, schema: health },
      errors: [],
      handle: async () => ({ body: { status: 'ok', version: VERSION } }),
    }),
    defineRoute({
      ...meta,
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Whether the process can serve requests: database, migrations, lanes',
      response: {
        status: 200,
        schema: readiness,
        also: { 503: 'Unready; `checks` says which part does not work' },
      },
      errors: [],
      async handle() {
        const report = await options.readiness();
        const isReady = Object.values(report.checks).every(Boolean);
        return { status: isReady ? 200 : 503, body: { status: isReady ? 'ready' : 'unready', ...report } };
      },
    }),
  ];
}

function metricsRoute(options: MetaOptions): Route {
  return defineRoute({
    ...meta,
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics for Prometheus; requests from outside private networks need the operator token',
    response: { status: 200, schema: z.string(), mediaTypes: ['text/plain'] },
    errors: ['invalid_api_key'],
    async handle({ headers, response }) {
      const address = response.req.socket.remoteAddress ?? '';
      if (headers['x-forwarded-for'] !== undefined || !isPrivateAddress(address)) {
        options.authenticator.operator(headers, address);
      }
      return sendText(response, options.metrics.contentType, await options.metrics.metrics());
    },
  });
}

function descriptionRoute(document: () => JsonSchema): Route {
  return defineRoute({
    ...meta,
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This API as an OpenAPI 3.1 document',
    response: { status: 200, schema: openApi },
    errors: [],
    handle: async () => ({ body: document() }),
  });
}

function sendText(response: Response, type: string, text: string): undefined {
  response.setHeader('Content-Type', type);
  response.end(text);
  return undefined;
}

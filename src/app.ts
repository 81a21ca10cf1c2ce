import type { Express, RequestHandler } from 'express';
import { type AccountRoutesServices, customerRoutes } from './customer-routes.ts';
import type { AliasSource } from './http/aliases.ts';
import { createHttpApp } from './http/http-app.ts';
import { type MetaOptions, metaRoutes } from './http/openapi/meta.routes.ts';
import type { RequestPipeline } from './http/request-pipeline.ts';
import type { Route } from './http/route.ts';
import { type OperatorServices, operatorRoutes } from './operators/operators.routes.ts';

export interface AppOptions {
  readonly pipeline: RequestPipeline;
  /** Chat, messages, tasks: the calls clients pay for. Matched first because they are most of the traffic. */
  readonly paidRoutes: readonly Route[];
  readonly account: AccountRoutesServices;
  /** Reports, billing, checkout: see compose/billing.ts. */
  readonly billingRoutes: readonly Route[];
  /** Browser sessions and data for the web console: see compose/console.ts. */
  readonly consoleRoutes: readonly Route[];
  /** For workers on hosts without a database: see compose/remote-workers.ts. */
  readonly workerRoutes: readonly Route[];
  readonly operators: OperatorServices;
  readonly meta: MetaOptions;
  /** Wraps every route, e.g. to trace it. */
  readonly watchRoute?: (route: Route) => Route;
  readonly surroundings: {
    readonly aliases: AliasSource;
    /** Number of proxies in front of the service. */
    readonly trustedProxies: number;
    /** Origins whose scripts may call the API. */
    readonly corsOrigins?: readonly string[];
    readonly pages: readonly { readonly path: string; readonly handler: RequestHandler }[];
  };
}

/** Returns every route of the service. The same list is mounted and documented. */
export function allRoutes(
  options: Pick<
    AppOptions,
    'paidRoutes' | 'account' | 'billingRoutes' | 'consoleRoutes' | 'workerRoutes' | 'operators' | 'meta'
  >,
): Route[] {
  const routes = [
    ...options.paidRoutes,
    ...customerRoutes(options.account),
    ...options.billingRoutes,
    ...options.consoleRoutes,
    ...options.workerRoutes,
    ...operatorRoutes(options.operators),
  ];
  return [...routes, ...metaRoutes(options.meta, routes)];
}

/** Builds the Express application with every route. Does no I/O itself. */
export function createApp(options: AppOptions): Express {
  const routes = allRoutes(options).map((route) => options.watchRoute?.(route) ?? route);
  return createHttpApp({ pipeline: options.pipeline, routes, ...options.surroundings });
}

import type { Express, RequestHandler } from 'express';
import { type AccountRoutesServices, customerRoutes } from './customer-routes.ts';
import type { AliasSource } from './http/aliases.ts';
import { createHttpApp } from './http/http-app.ts';
import type { Kernel } from './http/kernel.ts';
import { type MetaOptions, metaRoutes } from './http/openapi/meta.routes.ts';
import type { Route } from './http/route.ts';
import { type OperatorServices, operatorRoutes } from './operators/operators.routes.ts';

export interface AppOptions {
  readonly kernel: Kernel;
  /** Chat, messages, tasks: what a client pays for. First, because most requests are theirs. */
  readonly paidRoutes: readonly Route[];
  readonly account: AccountRoutesServices;
  /** Reports, billing, checkout: see compose/billing.ts. */
  readonly billingRoutes: readonly Route[];
  /** Sessions of browsers and what the web console shows: see compose/console.ts. */
  readonly consoleRoutes: readonly Route[];
  /** For workers on hosts without a database: see compose/remote-workers.ts. */
  readonly workerRoutes: readonly Route[];
  readonly operators: OperatorServices;
  readonly meta: MetaOptions;
  /** Put around every route, e.g. to trace it. */
  readonly watchRoute?: (route: Route) => Route;
  readonly surroundings: {
    readonly aliases: AliasSource;
    /** Number of proxies in front of us. */
    readonly trustedProxies: number;
    /** Origins whose scripts may call us. */
    readonly corsOrigins?: readonly string[];
    readonly pages: readonly { readonly path: string; readonly handler: RequestHandler }[];
  };
}

/** Every route of the service: what is mounted is what is documented. */
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

/** The whole HTTP surface on one Express application. No I/O of its own. */
export function createApp(options: AppOptions): Express {
  const routes = allRoutes(options).map((route) => options.watchRoute?.(route) ?? route);
  return createHttpApp({ kernel: options.kernel, routes, ...options.surroundings });
}

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import cors from 'cors';
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import express from 'express';
import helmet from 'helmet';
import { AppError } from '../lib/errors.ts';
import { type Aliases, type AliasSource, baseUrlAdvice } from './aliases.ts';
import { sendError } from './answers/send.ts';
import { type Exchange, type ExchangeReport, exchangeOf, openExchange } from './exchange.ts';
import type { RequestPipeline } from './request-pipeline.ts';
import type { Route } from './route.ts';
import { runRoute } from './run-route.ts';

interface TableEntry {
  /** The path in Express syntax. */
  readonly pattern: string;
  /** By upper-case HTTP method. */
  readonly methods: ReadonlyMap<string, Route>;
}

/** Response headers that scripts of other origins may read. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'x-should-retry',
  'X-Generation-Id',
  'X-Max-Tokens-Clamped',
  'X-Ignored-Parameters',
  'Idempotent-Replayed',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'Link',
  'Retry-After',
];

const PREFLIGHT_SECONDS = 600;

export interface HttpAppOptions {
  readonly pipeline: RequestPipeline;
  readonly routes: readonly Route[];
  readonly aliases: AliasSource;
  /** Number of proxies in front of Tollgate that are trusted to report the client's address. */
  readonly trustedProxies: number;
  /** Origins whose scripts may call the API; none by default. */
  readonly corsOrigins?: readonly string[];
  /** Sub-applications that serve their own pages (console, queue board), mounted before the 404 handler. */
  readonly pages?: readonly { readonly path: string; readonly handler: RequestHandler }[];
}

/** Creates the Express application: routes run behind the request pipeline, and every other request gets an error in its envelope. */
export function createHttpApp(options: HttpAppOptions): Express {
  const { pipeline } = options;
  // the line of a request has ten known fields and no secrets: scanning it for redaction would only cost time
  const report = { ...pipeline, requestLog: pipeline.log.child({}, { redact: [] }) };
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.set('trust proxy', options.trustedProxies);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  const protection = securityHeaders();
  if (options.corsOrigins?.length) {
    app.use(allowOrigins(options.corsOrigins));
  }
  const table = routeTable(options.routes);
  const warnOfProxy = createProxyWarning(options);
  // Express tries its layers and patterns one by one; a path without parameters takes a single lookup
  const fixed = new Map(table.filter(isFixed).map((entry) => [entry.pattern, entry.methods]));
  app.use((request, response, next) => {
    const exchange = openExchange(request, response, report);
    for (const [name, value] of protection) {
      response.setHeader(name, value);
    }
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      sendError(exchange, new AppError('invalid_request', 'the Host header is missing'));
      return;
    }
    warnOfProxy(request);
    const aliases = options.aliases.current();
    renameHeaders(request, aliases.headers);
    const known = fixed.get(request.path);
    if (!known) {
      renamePath(request, aliases);
    }
    const methods = known ?? fixed.get(request.path);
    return methods ? dispatch(pipeline, methods, exchange) : next();
  });
  for (const { pattern, methods } of table.filter((entry) => !isFixed(entry))) {
    app.all(pattern, (_, response) => dispatch(pipeline, methods, requireExchange(response)));
  }
  for (const page of options.pages ?? []) {
    app.use(page.path, page.handler);
  }
  app.use(({ method, originalUrl, headers }) => {
    const [path = ''] = originalUrl.split('?');
    const advice = baseUrlAdvice(path, headers['vendorx-version'] !== undefined);
    throw new AppError('route_not_found', `there is no ${method} ${path.slice(0, 200)}${advice}`);
  });
  app.use(answerErrors(report));
  return app;
}

/** Logs once that an untrusted proxy is in front: all its clients count as one address, e.g. for the limit on wrong keys. */
function createProxyWarning({ trustedProxies, pipeline }: HttpAppOptions): (request: Request) => void {
  let isSaid = trustedProxies > 0;
  return ({ headers }) => {
    if (!isSaid && headers['x-forwarded-for'] !== undefined) {
      isSaid = true;
      pipeline.log.warn(
        'requests carry X-Forwarded-For, but no proxy is trusted: set TRUSTED_PROXIES to the number of proxies in front',
      );
    }
  };
}

function isFixed({ pattern }: TableEntry): boolean {
  return !/[:*]/.test(pattern);
}

async function dispatch(
  pipeline: RequestPipeline,
  methods: ReadonlyMap<string, Route>,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  const route = methods.get(request.method === 'HEAD' ? 'GET' : request.method);
  if (route) {
    await runRoute(pipeline, route, exchange);
    return;
  }
  const [first] = methods.values();
  exchange.route = first?.path ?? exchange.route;
  exchange.envelope = first?.envelope ?? exchange.envelope;
  const allow = allowed(methods);
  response.setHeader('Allow', allow);
  if (request.method === 'OPTIONS') {
    response.status(204).end();
    return;
  }
  const hasSocket = request.method === 'GET' && [...methods.values()].some(({ overSocket }) => overSocket);
  sendError(exchange, hasSocket ? noUpgrade(response) : notAllowed(request.method, allow));
}

function notAllowed(method: string, allow: string): AppError {
  return new AppError('method_not_allowed', `${method} is not allowed here; use ${allow}`);
}

/**
 * The error for a handshake that a proxy took the Upgrade header from. By 426 Codex goes on with HTTP at once; by any other status it first
 * tries again, for seconds.
 */
function noUpgrade(response: Response): AppError {
  response.setHeader('Upgrade', 'websocket');
  const message =
    'GET opens a WebSocket here, but the Upgrade header is missing: a proxy may have removed it. POST works, too.';
  return new AppError('method_not_allowed', message, { status: 426 });
}

function allowed(methods: ReadonlyMap<string, Route>): string {
  const names = [...methods.keys()];
  return [...names, ...(names.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
}

function requireExchange(response: Response): Exchange {
  const exchange = exchangeOf(response);
  if (!exchange) {
    throw new Error('the request has no exchange');
  }
  return exchange;
}

/** Rewrites `url`, which Express matches; `originalUrl` keeps what the client sent. */
function renamePath(request: Request, aliases: Aliases): void {
  const { path } = request;
  const renamed = aliases.resolve(path);
  if (renamed !== path) {
    request.url = renamed + request.url.slice(path.length);
  }
}

function renameHeaders(request: Request, aliases: readonly (readonly [string, string])[]): void {
  for (const [alias, name] of aliases) {
    const value = request.headers[alias];
    if (value !== undefined && request.headers[name] === undefined) {
      request.headers[name] = value;
    }
  }
}

function answerErrors(report: ExchangeReport): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const exchange = exchangeOf(response) ?? openExchange(request, response, report);
    sendError(exchange, error);
  };
}

/**
 * Lets scripts of these origins (`*`: of any) call the API with a key of their own, never with cookies. Preflights only get their headers
 * here: the routes answer them, so a path that does not exist stays a 404.
 */
function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    credentials: false,
    maxAge: PREFLIGHT_SECONDS,
    preflightContinue: true,
  });
}

/**
 * Groups the routes by path, so that a wrong method on a known path differs from an unknown path. Throws Error when two routes share
 * method and path.
 */
function routeTable(routes: readonly Route[]): TableEntry[] {
  const byPath = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Map<string, Route>();
    const method = route.method.toUpperCase();
    if (methods.has(method)) {
      throw new Error(`two routes for ${method} ${route.path}`);
    }
    byPath.set(route.path, methods.set(method, route));
  }
  return [...byPath].map(([path, methods]) => ({ pattern: expressPattern(path), methods }));
}

/** `/a/{b}` → `/a/:b`; `/a/{b+}` → `/a/*b`. */
function expressPattern(path: string): string {
  return path.replace(/\{(\w+)\+\}/g, '*$1').replace(/\{(\w+)\}/g, ':$1');
}

/**
 * Returns the headers that helmet sets on every response. They do not depend on the request, so its thirteen middlewares run once at
 * startup instead of on every call.
 */
function securityHeaders(): readonly (readonly [string, string])[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const protect = helmet({
    // the operator decides about the other hosts of its domain
    strictTransportSecurity: { includeSubDomains: false },
    contentSecurityPolicy: { useDefaults: true, directives: { upgradeInsecureRequests: null } },
  });
  protect(request, response, (error) => {
    if (error !== undefined) {
      throw error;
    }
  });
  return Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]);
}

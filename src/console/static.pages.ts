import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { type Asset, readAsset, sendAsset } from '../http/answers/asset.ts';
import { html } from '../http/answers/html.ts';
import { exchangeOf } from '../http/exchange.ts';
import { builtFolder } from '../lib/built-folder.ts';
import { AppError } from '../lib/errors.ts';

export interface ConsolePagesOptions {
  /** Folder of the built console: index.html and assets/. */
  readonly folder: string;
  /** Path that browsers see in front of ours: `` or `/tollgate`. */
  readonly prefix: string;
  /** Origins besides our own that media is loaded from. */
  readonly mediaOrigins: readonly string[];
  /** What people sign in with as themselves; absent when they sign in with keys only. */
  readonly signInBy?: string | undefined;
}

const YEAR = 'public, max-age=31536000, immutable';

/** Returns the folder where the build puts the console. */
export function builtConsoleFolder(): string {
  return builtFolder('console');
}

/**
 * Serves the web console: one page for every path below it, and its files. Everything is read once and served from memory. File names
 * contain a digest of their content, so a browser requests each file once.
 */
export function consolePages(options: ConsolePagesOptions): RequestHandler {
  const assets = readAssets(join(options.folder, 'assets'));
  const page = readPage(options);
  const headers = pageHeaders(options.mediaOrigins);
  return (request, response, next) => {
    const exchange = exchangeOf(response);
    if (exchange) {
      exchange.route = '/console';
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      throw new AppError('method_not_allowed', `${request.method} is not allowed here`);
    }
    if (request.path.startsWith('/assets/')) {
      const asset = assets.get(request.path.slice('/assets/'.length));
      return asset ? sendAsset(asset, request, response, YEAR) : next();
    }
    if (!page) {
      throw new AppError('service_unavailable', 'The console is not built: run "npm run build".');
    }
    for (const [name, value] of headers) {
      response.setHeader(name, value);
    }
    sendPage(page, request, response);
  };
}

/** Redirects a browser that asks for the bare address to the console, or to the API's page when no console is built. */
export function rootRedirect(consoleFolder: string): RequestHandler {
  const target = existsSync(join(consoleFolder, 'index.html')) ? 'console' : 'docs';
  return (request, response, next) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (request.path !== '/' || !isRead || request.accepts(['json', 'html']) !== 'html') {
      return next();
    }
    const exchange = exchangeOf(response);
    if (exchange) {
      exchange.route = '/';
    }
    // relative: a proxy may serve Tollgate below a path of its own
    response.status(302).setHeader('Location', target);
    response.setHeader('Vary', 'Accept');
    response.end();
  };
}

interface ShellPage {
  readonly page: Buffer;
  readonly etag: string;
}

function sendPage({ page, etag }: ShellPage, request: Request, response: Response): void {
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('ETag', etag);
  if (request.headers['if-none-match'] === etag) {
    response.status(304).end();
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Length', page.length);
  response.end(request.method === 'HEAD' ? undefined : page);
}

function readPage({ folder, prefix, signInBy }: ConsolePagesOptions): ShellPage | undefined {
  const file = join(folder, 'index.html');
  if (!existsSync(file)) {
    return undefined;
  }
  const base = String(html`href="${prefix}/console/"`);
  const name =
    signInBy === undefined ? '' : String(html`<meta name="tollgate-sign-in" content="${signInBy}">`);
  const text = readFileSync(file, 'utf8')
    .replace('href="/console/"', () => base)
    .replace('</head>', () => `${name}</head>`);
  const page = Buffer.from(text);
  const digest = createHash('sha256').update(page).digest('base64url').slice(0, 22);
  return { page, etag: `"${digest}"` };
}

function readAssets(folder: string): ReadonlyMap<string, Asset> {
  if (!existsSync(folder)) {
    return new Map();
  }
  const names = readdirSync(folder).filter((name) => !/\.(br|gz)$/.test(name));
  return new Map(names.map((name) => [name, readAsset(join(folder, name))]));
}

/** Allows no inline script or style, no other origin, and no markup from text: whatever a model answers stays text. */
function pageHeaders(mediaOrigins: readonly string[]): [string, string][] {
  const media = ["'self'", 'blob:', ...new Set(mediaOrigins)].join(' ');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src ${media}`,
    `media-src ${media}`,
    "font-src 'self'",
    `connect-src ${media.replace(' blob:', '')}`,
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return [
    ['Content-Security-Policy', policy.join('; ')],
    ['Referrer-Policy', 'no-referrer'],
    ['Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=(), usb=()'],
  ];
}

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Response } from 'express';
import { z } from 'zod';
import { builtFolder } from '../../lib/built-folder.ts';
import { AppError } from '../../lib/errors.ts';
import { type Asset, readAsset, sendAsset } from '../answers/asset.ts';
import { Html, html } from '../answers/html.ts';
import { type HtmlPage, sendPage } from '../answers/html-page.ts';
import { defineRoute, type Route } from '../route.ts';
import { docsPage } from './docs-page.ts';
import type { JsonSchema } from './openapi-portable.ts';

/**
 * Starts Scalar on the page. It requests nothing from third parties: its fonts, telemetry, assistant and client are off, and calls go to
 * the address that the page was loaded from, even behind a proxy.
 */
const START = `Scalar.createApiReference('#viewer', {
  url: 'openapi.json',
  servers: [{ url: new URL('.', location.href).href.replace(/\\/$/, '') }],
  authentication: { preferredSecurityScheme: 'bearer' },
  withDefaultFonts: false, telemetry: false, agent: { disabled: true }, mcp: { disabled: true },
  hideClientButton: true, showDeveloperTools: 'never', documentDownloadType: 'direct',
});`;

/** Scalar writes its own style elements, so they are allowed here and on no other page. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(START).digest('base64')}'`,
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Viewer {
  readonly asset: Asset;
  readonly digest: string;
}

const page = {
  method: 'get',
  tag: 'Service',
  access: 'public',
  envelope: 'bare',
  errors: [],
  response: { status: 200, schema: z.string(), mediaTypes: ['text/html'] },
} as const;

/**
 * The API description as pages: `/docs` with search, samples and calls, `/docs/plain` without scripts. When the viewer was not built,
 * `/docs` is the plain page too. `folder` contains the viewer; it defaults to where the build puts it.
 */
export function docsRoutes(
  document: () => JsonSchema,
  folder: string = join(builtFolder('console'), 'docs'),
): Route[] {
  let plain: HtmlPage | undefined;
  const plainPage = () => {
    plain ??= docsPage(document());
    return plain;
  };
  let read: Viewer | undefined;
  const viewer = () => {
    read ??= readViewer(folder);
    return read;
  };
  return [
    defineRoute({
      ...page,
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This API as a web page with search, samples and calls',
      async handle({ response }) {
        const found = viewer();
        return found
          ? sendViewer(response, titleOf(document()), found.digest)
          : sendPage(response, plainPage());
      },
    }),
    defineRoute({
      ...page,
      path: '/docs/plain',
      operationId: 'getPlainDocs',
      summary: 'This API as a web page without scripts',
      handle: async ({ response }) => sendPage(response, plainPage()),
    }),
    defineRoute({
      ...page,
      path: '/docs/viewer.js',
      operationId: 'getDocsViewer',
      summary: 'The script of the page at /docs',
      response: { status: 200, schema: z.string(), mediaTypes: ['text/javascript'] },
      errors: ['route_not_found'],
      async handle({ response }) {
        const found = viewer();
        if (!found) {
          throw new AppError('route_not_found', 'the viewer is not built: run "npm run build"');
        }
        sendAsset(found.asset, response.req, response, 'public, max-age=31536000, immutable');
        return undefined;
      },
    }),
  ];
}

/** Reads the viewer. Called on the first request only: it has 5 MB that most processes never need. */
function readViewer(folder: string): Viewer | undefined {
  const file = join(folder, 'viewer.js');
  if (!existsSync(file)) {
    return undefined;
  }
  const asset = readAsset(file);
  return { asset, digest: createHash('sha256').update(asset.plain).digest('hex').slice(0, 16) };
}

function titleOf(document: JsonSchema): string {
  return (document.info as { readonly title: string }).title;
}

/** Sends the API description in a viewer that searches it, shows samples and makes calls. `digest` belongs to the viewer's script. */
function sendViewer(response: Response, title: string, digest: string): undefined {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.end(
    String(html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<noscript><meta http-equiv="refresh" content="0; url=docs/plain"></noscript></head>
<body><noscript><a href="docs/plain">The reference without scripts</a></noscript><div id="viewer"></div>
<script src="docs/viewer.js?v=${digest}"></script><script>${new Html(START)}</script></body></html>`),
  );
  return undefined;
}

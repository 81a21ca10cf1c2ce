import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { Html, html } from '../answers/html.ts';

/**
 * Starts Scalar on the page. Nothing is asked of anybody else: its fonts, telemetry, assistant and client are off, and calls go to
 * where the page came from, whatever address a proxy gave it.
 */
const START = `Scalar.createApiReference('#viewer', {
  url: 'openapi.json',
  servers: [{ url: new URL('.', location.href).href.replace(/\\/$/, '') }],
  authentication: { preferredSecurityScheme: 'bearer' },
  withDefaultFonts: false, telemetry: false, agent: { disabled: true }, mcp: { disabled: true },
  hideClientButton: true, showDeveloperTools: 'never', documentDownloadType: 'direct',
});`;

/** Scalar writes its own style elements, so they are allowed here, and on no other page. */
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

/** The API description in a viewer that searches it, shows samples and makes calls. `digest`: of the viewer's script. */
export function sendViewer(response: Response, title: string, digest: string): undefined {
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

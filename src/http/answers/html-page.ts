import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { Html, type HtmlValue, html } from './html.ts';

export interface HtmlPage {
  readonly title: string;
  /** CSS of the page, added after {@link PALETTE}. Must be a constant: it is neither escaped nor checked. */
  readonly style: string;
  readonly body: HtmlValue;
  /** Class of the body element. */
  readonly shape?: string;
  /** HTTP status; default 200. */
  readonly status?: number;
  /** Origins besides our own that a form of this page may lead to, including by redirect, which browsers also check. */
  readonly formTargets?: readonly string[];
  /** Seconds after which the browser reloads the page. */
  readonly refreshSeconds?: number;
}

/** The colors of every page, for light and dark mode. */
const PALETTE = `
:root { color-scheme: light dark; --ink: #16201c; --soft: #56635d; --line: #d5ddd8; --page: #eef2ef; --card: #ffffff;
  --accent: #0b6b53; --on-accent: #ffffff; --bad: #fde8e8; --bad-ink: #8b1a1a; --good: #ddf3ea; --good-ink: #07543f;
  --wait: #fff3d6; --wait-ink: #5c4300; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ece9; --soft: #a3b0a9; --line: #33403a; --page: #0f1412;
  --card: #18201d; --accent: #5cd3b0; --on-accent: #06231a; --bad: #401a1c; --bad-ink: #ffc9c9; --good: #12382c;
  --good-ink: #a8ecd5; --wait: #3a2f10; --wait-ink: #ffe3a0; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; color: var(--ink); background: var(--page); font: 16px/1.5 system-ui, sans-serif; }
`;

/** Renders the frame of every page that the server generates. It loads nothing and runs no script. */
export function renderPage({ title, style, body, shape }: HtmlPage): string {
  return String(html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<style>${new Html(PALETTE + style)}</style></head><body${shape !== undefined && html` class="${shape}"`}>${body}</body></html>`);
}

/** Sends a page that uses only its own style, that no other page may frame and that no cache keeps. */
export function sendPage(response: Response, page: HtmlPage): undefined {
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${createHash('sha256')
      .update(PALETTE + page.style)
      .digest('base64')}'`,
    ["form-action 'self'", ...(page.formTargets ?? [])].join(' '),
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ];
  response.statusCode = page.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', policy.join('; '));
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  if (page.refreshSeconds !== undefined) {
    response.setHeader('Refresh', String(page.refreshSeconds));
  }
  response.end(renderPage(page));
  return undefined;
}

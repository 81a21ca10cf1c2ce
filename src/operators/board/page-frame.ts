import type { Response } from 'express';
import { escapeHtml } from '../../http/html.ts';
import { OPERATOR_STYLE } from './operator-style.ts';

export interface OperatorPage {
  readonly title: string;
  /** HTML, already escaped. */
  readonly content: string;
  /** Whether it is a small card in the middle or a whole page. */
  readonly shape: 'card' | 'page';
  /** HTML of the navigation; none before somebody has signed in. */
  readonly navigation?: string;
  readonly status?: number;
}

/** Answers with a page that loads nothing, runs no script and is kept by no cache. */
export function sendPage(response: Response, nonce: string, page: OperatorPage): void {
  const policy = [
    `default-src 'none'`,
    `style-src 'nonce-${nonce}'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ];
  response.statusCode = page.status ?? 200;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', policy.join('; '));
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>${escapeHtml(page.title)} · Tollgate</title><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><style nonce="${nonce}">${OPERATOR_STYLE}</style></head>
<body class="${page.shape}">${page.navigation ?? ''}<main>${page.content}</main></body></html>`);
}

/** The bar on top of every page behind the login. `base`: path of the operator pages. */
export function navigationBar(base: string): string {
  const link = (path: string, text: string) => `<a href="${escapeHtml(base + path)}">${text}</a>`;
  return `<header><a class="brand" href="${escapeHtml(`${base}/queues`)}">Tollgate <span>operators</span></a>
<nav aria-label="Operator pages">${link('/queues', 'Queues')}${link('/queues-rw', 'Queues, writable')}${link('/logout', 'Sign out')}</nav></header>`;
}

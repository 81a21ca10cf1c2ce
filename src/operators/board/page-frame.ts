import type { Response } from 'express';
import { type Html, html } from '../../http/answers/html.ts';
import { sendPage } from '../../http/answers/html-page.ts';
import { OPERATOR_STYLE } from './operator-style.ts';

export interface OperatorPage {
  readonly title: string;
  readonly content: Html;
  /** A small card in the middle, or a whole page. */
  readonly shape: 'card' | 'page';
  /** None before somebody has signed in. */
  readonly navigation?: Html;
  readonly status?: number;
  readonly refreshSeconds?: number;
}

export function sendOperatorPage(response: Response, page: OperatorPage): void {
  const { title, content, navigation, ...rest } = page;
  sendPage(response, {
    ...rest,
    title: `${title} · Tollgate`,
    style: OPERATOR_STYLE,
    body: html`${navigation}<main>${content}</main>`,
  });
}

/** The bar on top of every page behind the login. `base`: path of the operator pages. */
export function navigationBar(base: string): Html {
  const link = (path: string, text: string) => html`<a href="${base + path}">${text}</a>`;
  const console = `${base.replace(/\/admin$/, '')}/console/operator`;
  return html`<header><a class="brand" href="${`${base}/queues`}">Tollgate <span>operators</span></a>
<nav aria-label="Operator pages"><a href="${console}">Console</a>${link('/queues', 'Queues')}${link('/queues-rw', 'Queues, writable')}${link('/logout', 'Sign out')}</nav></header>`;
}

import type { Response } from 'express';
import { type Html, html } from '../../http/answers/html.ts';
import { sendPage } from '../../http/answers/html-page.ts';

const OPERATOR_STYLE = `
a { color: var(--accent); }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; justify-content: space-between;
  padding: .75rem clamp(1rem, 4vw, 3rem); background: var(--card); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; color: inherit; text-decoration: none; }
.brand span { font-weight: 400; color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
main { width: min(64rem, calc(100% - 2rem)); margin: clamp(1rem, 4vh, 2.5rem) auto; }
.card { display: grid; place-items: center; }
.card > main { width: min(25rem, calc(100% - 2rem)); padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 16px; box-shadow: 0 12px 40px rgb(0 0 0 / .06); }
.card > header { position: fixed; inset: 0 0 auto; }
h1 { margin: 0 0 .35rem; font-size: 1.5rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.05rem; }
p { margin: 0 0 1.25rem; color: var(--soft); }
label { display: block; margin-bottom: .35rem; font-weight: 600; }
input { width: 100%; padding: .75rem .9rem; border: 1px solid var(--soft); border-radius: 10px; background: var(--page);
  color: inherit; font: 16px/1.4 ui-monospace, monospace; }
input[aria-invalid=true] { border-color: var(--bad-ink); }
button { display: block; width: 100%; margin-top: 1.25rem; padding: .85rem 1rem; border: 0; border-radius: 10px;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer; }
button:focus-visible, a:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px;
  border-radius: 6px; }
.hint { margin: .4rem 0 0; font-size: .875rem; }
.alert { padding: .75rem .9rem; border-radius: 10px; background: var(--bad); color: var(--bad-ink); }
.state { display: inline-block; padding: .1rem .6rem; border-radius: 99px; font-size: .8rem; font-weight: 600;
  vertical-align: middle; background: var(--wait); color: var(--wait-ink); }
.state.succeeded, .state.delivered { background: var(--good); color: var(--good-ink); }
.state.failed { background: var(--bad); color: var(--bad-ink); }
code { font: .875em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.panel { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
dl.panel { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0; margin: 0; padding: .5rem 0; }
dl.panel div { padding: .5rem 1.25rem; }
dt { font-size: .8rem; color: var(--soft); }
dd { margin: 0; font-size: .95rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .6rem 1.25rem; text-align: left; vertical-align: top; }
th { font-size: .8rem; font-weight: 600; color: var(--soft); }
tbody tr { border-top: 1px solid var(--line); }
.empty { padding: 1rem 1.25rem; margin: 0; }
`;

export interface OperatorPage {
  readonly title: string;
  readonly content: Html;
  /** A small centered card, or a full page. */
  readonly shape: 'card' | 'page';
  /** Undefined before someone has signed in. */
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

/** Renders the bar at the top of every page behind the login. `base` is the path of the operator pages. */
export function navigationBar(base: string): Html {
  const link = (path: string, text: string) => html`<a href="${base + path}">${text}</a>`;
  const console = `${base.replace(/\/admin$/, '')}/console/operator`;
  return html`<header><a class="brand" href="${`${base}/queues`}">Tollgate <span>operators</span></a>
<nav aria-label="Operator pages"><a href="${console}">Console</a>${link('/queues', 'Queues')}${link('/queues-rw', 'Queues, writable')}${link('/logout', 'Sign out')}</nav></header>`;
}

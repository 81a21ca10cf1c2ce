import { html } from '../../http/answers/html.ts';
import type { OperatorPage } from './page-frame.ts';
import { navigationBar } from './page-frame.ts';

export interface LoginForm {
  /** Path of the operator pages. */
  readonly base: string;
  readonly proof: string;
  /** Path to go to after signing in, below `base`. */
  readonly next: string;
  /** Why the last attempt failed, in a sentence. */
  readonly problem?: string;
  readonly status?: number;
  /** The OpenID provider that operators may sign in with; undefined when only tokens are accepted. */
  readonly signInBy: string | undefined;
}

/** Interval at which a browser reloads the page while the queues are unavailable. */
export const LOOK_AGAIN_SECONDS = 10;

/** Renders the form for the operator's token. A plain form: it works without JavaScript. */
export function loginPage(form: LoginForm): OperatorPage {
  const { base, proof, next, problem, status, signInBy } = form;
  const page = /^\/console\/(operator.*)$/.exec(next)?.[1];
  const query = new URLSearchParams({ as: 'operator', ...(page !== undefined && { next: page }) });
  const start = `${base.replace(/\/admin$/, '')}/console/oidc/start?${query}`;
  const byProvider = signInBy !== undefined && html`<p><a href="${start}">Sign in with ${signInBy}</a></p>`;
  const alert = problem !== undefined && html`<p class="alert" role="alert" id="problem">${problem}</p>`;
  const invalid = problem !== undefined && html` aria-invalid="true"`;
  const describedBy = problem === undefined ? 'hint' : 'problem hint';
  return {
    title: 'Sign in',
    shape: 'card',
    ...(status !== undefined && { status }),
    content: html`<h1>Operators</h1><p>Accounts, money and queues of this installation.</p>${alert}${byProvider}
<form method="post" action="${`${base}/login`}">
<input type="hidden" name="proof" value="${proof}"><input type="hidden" name="next" value="${next}">
<input type="text" name="username" value="operator" autocomplete="username" hidden>
<label for="token">Operator token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password" spellcheck="false"
 aria-describedby="${describedBy}"${invalid}>
<p class="hint" id="hint">Use your token from ADMIN_TOKENS, ADMIN_TOKEN, or from the file <code>admin.token</code> in the data folder.</p>
<button type="submit">Sign in</button></form>`,
  };
}

/** Asks for confirmation to sign out. A form, because any site could embed a link that signs people out. */
export function logoutPage(base: string, proof: string): OperatorPage {
  return {
    title: 'Sign out',
    shape: 'card',
    navigation: navigationBar(base),
    content: html`<h1>Sign out</h1><p>You will need the operator token to come back.</p>
<form method="post" action="${`${base}/logout`}"><input type="hidden" name="proof" value="${proof}">
<button type="submit">Sign out</button></form>`,
  };
}

/** Shown while Redis does not respond; reloads itself. */
export function queuesUnavailablePage(base: string): OperatorPage {
  return {
    title: 'Queues unavailable',
    shape: 'card',
    status: 503,
    refreshSeconds: LOOK_AGAIN_SECONDS,
    navigation: navigationBar(base),
    content: html`<h1>Queues unavailable</h1>
<p class="alert" role="alert">Redis does not respond. Nothing is lost: tasks are kept in the database and are dispatched again.</p>
<p>This page reloads every ${LOOK_AGAIN_SECONDS} seconds.</p>`,
  };
}

export function missingTaskPage(base: string): OperatorPage {
  return {
    title: 'No such task',
    shape: 'card',
    status: 404,
    navigation: navigationBar(base),
    content: html`<h1>No such task</h1><p>It may have been deleted: tasks are kept for 30 days after they end.</p>`,
  };
}

import { useEffect, useState } from 'preact/hooks';
import lazy from 'preact-iso/lazy';
import { Route, Router, useLocation } from 'preact-iso/router';
import { get, onLoginNeeded, setProof } from '../api/client.ts';
import { SIGN_IN_NAME } from '../api/members.ts';
import type { OperatorSession } from '../api/types.gen.ts';
import { BASE, SERVICE, to } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import { Arrival } from '../ui/arrival.tsx';
import type { Command } from '../ui/command-palette.tsx';
import { DeviceSettings } from '../ui/device-settings.tsx';
import { Empty, Problem, Skeleton } from '../ui/feedback.tsx';
import { Frame } from '../ui/frame.tsx';
import type { IconName } from '../ui/icon.tsx';
import { Time } from '../ui/time.tsx';
import { HomePage } from './home/home.tsx';
import { SearchBox } from './search/search-box.tsx';

const AccountsPage = lazy(async () => (await import('./accounts/accounts.tsx')).AccountsPage);
const AccountPage = lazy(async () => (await import('./accounts/account.tsx')).AccountPage);
const TasksPage = lazy(async () => (await import('./tasks/tasks.tsx')).TasksPage);
const MoneyPage = lazy(async () => (await import('./money/money.tsx')).MoneyPage);
const FleetPage = lazy(async () => (await import('./fleet/fleet.tsx')).FleetPage);
const DeliveriesPage = lazy(async () => (await import('./deliveries/deliveries.tsx')).DeliveriesPage);
const AuditPage = lazy(async () => (await import('./audit/audit.tsx')).AuditPage);
const SessionsPage = lazy(async () => (await import('./sessions/sessions.tsx')).SessionsPage);
const SearchPage = lazy(async () => (await import('./search/search.tsx')).SearchPage);

const PAGES: readonly { readonly page: string; readonly icon: IconName; readonly word: string }[] = [
  { page: '', icon: 'overview', word: 'Home' },
  { page: 'accounts', icon: 'account', word: 'Accounts' },
  { page: 'money', icon: 'billing', word: 'Money' },
  { page: 'fleet', icon: 'fleet', word: 'Fleet' },
  { page: 'tasks', icon: 'tasks', word: 'Tasks' },
  { page: 'deliveries', icon: 'generations', word: 'Deliveries' },
  { page: 'audit', icon: 'audit', word: 'Audit log' },
  // only sessions of people who signed in with the OpenID provider are stored
  ...(SIGN_IN_NAME === undefined ? [] : [{ page: 'sessions', icon: 'members', word: 'Sessions' } as const]),
];

/** The operators' console, only for users signed in as operators; the service decides who that is. */
export function OperatorConsole() {
  const { path, route } = useLocation();
  const [session, setSession] = useState<OperatorSession>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    signedIn().then(setSession, setError);
  }, []);
  if (!session) {
    return (
      <main class="login">
        <h1 class="hidden-text">Tollgate</h1>
        {error === undefined ? (
          <Skeleton />
        ) : (
          <Problem error={error} retry={() => window.location.reload()} />
        )}
      </main>
    );
  }
  const current = partOf(path);
  return (
    <Frame
      home={to('operator')}
      brand={t('Tollgate operators')}
      entries={PAGES.map(({ page, icon, word }) => ({
        href: to(page === '' ? 'operator' : `operator/${page}`),
        icon,
        word,
        isCurrent: page === current,
      }))}
      top={<SearchBox />}
      menuName={session.operator}
      menu={<Menu session={session} />}
      palette={{ commands: [], find: (text) => searchFor(text, route) }}
    >
      <Arrival titleOf={(at) => PAGES.find(({ page }) => page === partOf(at))?.word ?? 'Search'} />
      <Router>
        <Route path={`${BASE}operator`} component={HomePage} />
        <Route path={`${BASE}operator/accounts`} component={AccountsPage} />
        <Route path={`${BASE}operator/accounts/:id`} component={AccountPage} />
        <Route path={`${BASE}operator/money`} component={MoneyPage} />
        <Route path={`${BASE}operator/fleet`} component={FleetPage} />
        <Route path={`${BASE}operator/tasks`} component={TasksPage} />
        <Route path={`${BASE}operator/deliveries`} component={DeliveriesPage} />
        <Route path={`${BASE}operator/audit`} component={AuditPage} />
        <Route path={`${BASE}operator/sessions`} component={SessionsPage} />
        <Route path={`${BASE}operator/search`} component={SearchPage} />
        <Route default component={Missing} />
      </Router>
    </Frame>
  );
}

/** Offers to search all accounts for any text that is not a page. */
function searchFor(text: string, route: (path: string) => void): Command[] {
  return [...text].length < 2
    ? []
    : [
        {
          word: 'Search for “{text}”',
          values: { text },
          run: () => route(to('operator/search', { q: text })),
        },
      ];
}

/** Returns the name of the page that an address belongs to. */
function partOf(path: string): string {
  return path.slice(to('operator').length + 1).split('/')[0] ?? '';
}

/** Returns the session of the operator. Without one, redirects the browser to the operators' login and back here afterwards. */
async function signedIn(): Promise<OperatorSession> {
  let operator: string | undefined;
  const read = async () => {
    const { data } = await get<OperatorSession>('/admin/v1/session');
    if (operator !== undefined && operator !== data.operator) {
      return leave(() => window.location.reload());
    }
    operator = data.operator;
    setProof(data.csrf ?? '');
    return data;
  };
  onLoginNeeded(async (need) => {
    await (need === 'renewed' ? read() : leave(toLogin));
  });
  return read();
}

function toLogin(): void {
  const here = window.location.pathname.slice(SERVICE.length - 1) + window.location.search;
  window.location.assign(`${SERVICE}admin/login?next=${encodeURIComponent(here)}`);
}

/** Leaves the page: what waits for the result waits until the next page is there. */
function leave(go: () => void): Promise<never> {
  go();
  return new Promise(() => undefined);
}

function Menu({ session }: { readonly session: OperatorSession }) {
  return (
    <>
      {session.ends_at === null ? null : (
        <p class="quiet small">
          {t('Signed in until')} <Time at={session.ends_at} />
        </p>
      )}
      <DeviceSettings />
      <a href={`${SERVICE}${session.links.board.slice(1)}`} target="_self">
        {t('Queue board')}
      </a>
      {session.links.grafana === null ? null : (
        <a href={session.links.grafana} rel="noreferrer" target="_blank">
          {t('Dashboards')}
        </a>
      )}
      <a class="button" href={`${SERVICE}admin/logout`} target="_self">
        {t('Sign out')}
      </a>
    </>
  );
}

function Missing() {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('There is no such page')}</h1>
      <Empty text={t('The address is mistyped, or the page has moved.')}>
        <a class="button button-main" href={to('operator')}>
          {t('Home')}
        </a>
      </Empty>
    </div>
  );
}

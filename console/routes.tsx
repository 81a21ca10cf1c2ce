import lazy, { ErrorBoundary } from 'preact-iso/lazy';
import { Route, Router } from 'preact-iso/router';
import { SIGN_IN_NAME } from './api/members.ts';
import { isMissingFile, reload } from './api/new-files.ts';
import { BASE } from './lib/location.ts';
import { MissingPage } from './pages/missing.tsx';
import { OverviewPage } from './pages/overview/overview.tsx';
import { Arrival } from './ui/arrival.tsx';

const KeysPage = lazy(async () => (await import('./pages/keys/keys.tsx')).KeysPage);
const BillingPage = lazy(async () => (await import('./pages/billing/billing.tsx')).BillingPage);

const GenerationsPage = lazy(
  async () => (await import('./pages/generations/generations.tsx')).GenerationsPage,
);
const UsagePage = lazy(async () => (await import('./pages/usage/usage.tsx')).UsagePage);
const TasksPage = lazy(async () => (await import('./pages/tasks/tasks.tsx')).TasksPage);
const PlaygroundPage = lazy(async () => (await import('./pages/playground/playground.tsx')).PlaygroundPage);
const ModelsPage = lazy(async () => (await import('./pages/models/models.tsx')).ModelsPage);
const StartPage = lazy(async () => (await import('./pages/start/start.tsx')).StartPage);
const MembersPage = lazy(async () => (await import('./pages/members/members.tsx')).MembersPage);
const AccountPage = lazy(async () => (await import('./pages/account/account.tsx')).AccountPage);

const TITLES: Readonly<Record<string, string>> = {
  '': 'Overview',
  playground: 'Playground',
  tasks: 'Tasks',
  generations: 'Generations',
  usage: 'Usage & Costs',
  models: 'Models',
  keys: 'Keys',
  billing: 'Billing',
  members: 'Members',
  start: 'Start',
  account: 'Account',
};

function titleOf(path: string): string {
  const [name = ''] = path.slice(BASE.length).split('/');
  return TITLES[name] ?? 'Console';
}

/** The page of an address. Every page but the first is loaded on demand. */
export function Pages() {
  return (
    <ErrorBoundary onError={(error) => void (isMissingFile(error) && reload())}>
      <Arrival titleOf={titleOf} />
      <Router>
        <Route path={BASE} component={OverviewPage} />
        <Route path={`${BASE}models`} component={ModelsPage} />
        <Route path={`${BASE}keys`} component={KeysPage} />
        <Route path={`${BASE}billing`} component={BillingPage} />
        <Route path={`${BASE}generations`} component={GenerationsPage} />
        <Route path={`${BASE}usage`} component={UsagePage} />
        <Route path={`${BASE}tasks`} component={TasksPage} />
        <Route path={`${BASE}playground`} component={PlaygroundPage} />
        <Route path={`${BASE}members`} component={SIGN_IN_NAME === undefined ? MissingPage : MembersPage} />
        <Route path={`${BASE}start`} component={StartPage} />
        <Route path={`${BASE}account`} component={AccountPage} />
        <Route default component={MissingPage} />
      </Router>
    </ErrorBoundary>
  );
}

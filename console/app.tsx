import { useEffect } from 'preact/hooks';
import lazy, { ErrorBoundary } from 'preact-iso/lazy';
import { LocationProvider, useLocation } from 'preact-iso/router';
import { followAccount } from './api/events.ts';
import { isMissingFile, reload } from './api/new-files.ts';
import { useSession } from './api/session.ts';
import { BASE, isOperators, to } from './lib/location.ts';
import { useLanguage } from './lib/text.ts';
import { LoginDialog, LoginPage } from './pages/login.tsx';
import { Pages } from './routes.tsx';
import { Shell } from './shell.tsx';
import { Problem } from './ui/feedback.tsx';

/** Loaded separately: a customer's browser never loads it. */
const OperatorConsole = lazy(async () => (await import('./operator/operator-console.tsx')).OperatorConsole);

export interface AppProps {
  /** Why the session could not be read; undefined if it was. */
  readonly problem: unknown;
}

/** The customers' console, or the operators' console below `operator`. */
export function App({ problem }: AppProps) {
  const language = useLanguage();
  return (
    <LocationProvider scope={BASE}>
      {/* A new language is a new page: the router caches what it has rendered. */}
      <Either key={language} problem={problem} />
    </LocationProvider>
  );
}

function Either({ problem }: AppProps) {
  const { path } = useLocation();
  if (path === to('sign-in')) {
    return <LoginPage />;
  }
  return isOperators(path) ? (
    <ErrorBoundary onError={(error) => void (isMissingFile(error) && reload())}>
      <OperatorConsole />
    </ErrorBoundary>
  ) : (
    <CustomerConsole problem={problem} />
  );
}

/** Shows the login or the pages, and a login dialog when a session ends while a page is open. */
function CustomerConsole({ problem }: AppProps) {
  const { session, wanted } = useSession();
  const account = session?.account.id;
  useEffect(() => (account === undefined ? undefined : followAccount(account)), [account]);
  if (session === undefined) {
    return (
      <main class="login">
        <h1 class="hidden-text">Tollgate</h1>
        <Problem error={problem} retry={() => window.location.reload()} />
      </main>
    );
  }
  return (
    <>
      {session === null ? (
        <LoginPage />
      ) : (
        <Shell>
          <Pages />
        </Shell>
      )}
      {wanted === undefined ? null : <LoginDialog reason={wanted} />}
    </>
  );
}

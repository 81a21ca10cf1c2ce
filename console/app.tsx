import { LocationProvider } from 'preact-iso/router';
import { useSession } from './api/session.ts';
import { BASE } from './lib/location.ts';
import { t, useLanguage } from './lib/text.ts';
import { LoginDialog, LoginPage } from './pages/login.tsx';
import { Pages } from './routes.tsx';
import { Shell } from './shell.tsx';
import { Problem } from './ui/feedback.tsx';

/** The login for nobody, the pages for somebody; a login over the page when a session ends while it is open. */
export function App() {
  useLanguage();
  const { session, wanted } = useSession();
  if (session === undefined) {
    return (
      <main class="login">
        <h1 class="hidden-text">Tollgate</h1>
        <Problem
          error={new Error(t('The service cannot be reached. Check the connection; nothing was lost.'))}
          retry={() => window.location.reload()}
        />
      </main>
    );
  }
  return (
    <LocationProvider scope={BASE}>
      {session === null ? (
        <LoginPage />
      ) : (
        <Shell>
          <Pages />
        </Shell>
      )}
      {wanted === undefined ? null : <LoginDialog reason={wanted} />}
    </LocationProvider>
  );
}

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { errorText } from '../api/errors.ts';
import { type LoginReason, signIn, useSession } from '../api/session.ts';
import { BASE, SERVICE, to } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { SignInByProvider } from './sign-in.tsx';

/** The login page: exchanges a key for a session. */
export function LoginPage() {
  return (
    <main class="login">
      <div class="login-box">
        <p class="login-brand">Tollgate</p>
        <h1 tabIndex={-1}>{t('Sign in')}</h1>
        <SignInByProvider wish={{ next: here() }} />
        <LoginForm />
        <details>
          <summary>{t('Where do I find my key?')}</summary>
          <p>
            {t(
              'The operator of this service gave it to you when the account was opened. After the first start on this machine, it is in the file .data/owner.key.',
            )}
          </p>
        </details>
        <p class="small quiet">
          <a href={`${SERVICE}admin/login?next=/console/operator`}>{t('Operators sign in here')}</a>
        </p>
      </div>
    </main>
  );
}

/** Returns the page and what is chosen on it, to come back to. The sign-in page itself is nothing to come back to. */
function here(): string {
  const { pathname, search } = window.location;
  return pathname === to('sign-in') ? '' : pathname.slice(BASE.length) + search;
}

/** Login dialog over the page, which continues afterwards. */
export function LoginDialog({ reason }: { readonly reason: LoginReason }) {
  const { session } = useSession();
  const wish = {
    next: here(),
    account: session?.account.id,
    again: reason === 'too_old',
  };
  return (
    <Dialog title={t('Sign in again')} onClose={() => window.location.reload()} mustAnswer>
      <p>
        {reason === 'too_old'
          ? t('You signed in a while ago. Granting or removing access requires a recent sign-in.')
          : t('The session has ended. Sign in to continue where you left off.')}
      </p>
      <SignInByProvider wish={wish} />
      <LoginForm />
    </Dialog>
  );
}

function LoginForm() {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string>();
  const [isPending, setPending] = useState(false);
  const { path, route } = useLocation();
  const submit = async (event: Event) => {
    event.preventDefault();
    setPending(true);
    setProblem(undefined);
    try {
      await signIn(key);
      setKey('');
      if (path === to('sign-in')) {
        // this page is shown whether or not someone is signed in
        route(BASE, true);
      }
    } catch (error) {
      setProblem(errorText(error));
      setPending(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      {/* Password managers expect a user name beside a secret. */}
      <input type="text" name="username" autoComplete="username" value="tollgate" readOnly hidden />
      <Field
        label={t('API key')}
        problem={problem}
        hint={t('It is exchanged for a session of at most 12 hours and is not stored in this browser.')}
      >
        <input
          type="password"
          name="key"
          autoComplete="current-password"
          placeholder="sk-tg-…"
          required
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
      </Field>
      <button type="submit" class="button button-main" disabled={isPending}>
        {isPending ? t('Signing in …') : t('Sign in')}
      </button>
    </form>
  );
}

import { useLocation } from 'preact-iso/router';
import { SIGN_IN_NAME, type SignInOptions, signInAddress } from '../api/members.ts';
import { t } from '../lib/text.ts';

/** Link to the OpenID provider, and why the last attempt failed. Renders nothing if only keys can sign in. */
export function SignInByProvider({ wish = {} }: { readonly wish?: SignInOptions }) {
  const { query } = useLocation();
  if (SIGN_IN_NAME === undefined) {
    return null;
  }
  const { problem, invitation } = query;
  return (
    <div class="form">
      {problem === undefined ? null : (
        <p class="notice notice-bad" role="alert">
          {problemText(problem)}
        </p>
      )}
      {invitation === undefined ? null : (
        <p>{t('You are invited. Sign in with the e-mail address that the invitation was sent to.')}</p>
      )}
      {/* A page of the service, not of the console: the browser must load it. */}
      <a class="button button-main" target="_top" href={signInAddress({ invitation, ...wish })}>
        {t('Sign in with {name}', { name: SIGN_IN_NAME })}
      </a>
      <p class="small quiet">{t('Or with a key:')}</p>
    </div>
  );
}

function problemText(problem: string): string {
  switch (problem) {
    case 'provider_away':
      return t('The sign-in service is not responding. Try again in a moment, or sign in with a key.');
    case 'expired':
      return t('Sign-in took too long, or another tab started signing in. Try again.');
    case 'too_many':
      return t('Too many failed sign-ins from here. Wait a minute, then try again.');
    case 'not_a_member':
      return t('You signed in, but you are not a member of any account here. Ask an owner to invite you.');
    case 'invitation_ended':
      return t(
        'This invitation was already used or withdrawn, or is older than seven days. Ask for a new one.',
      );
    case 'invitation_for_another':
      return t('This invitation is for a different e-mail address than the one you signed in with.');
    case 'email_not_verified':
      return t('The sign-in service did not provide a verified e-mail address, which an invitation needs.');
    case 'not_an_operator':
      return t('The sign-in service does not list you as an operator here.');
    case 'account_full':
      return t('The account has reached its limit of keys and members. Ask an owner to remove some.');
    case 'denied':
      return t(
        'The sign-in service did not let you in, or you canceled there. Try again, or ask its administrator for access.',
      );
    default:
      return t(
        'The sign-in service could not confirm your identity. Try again; if that does not help, tell the operator: the log says why.',
      );
  }
}

import { useLocation } from 'preact-iso/router';
import { SIGN_IN_NAME, type SignInWish, signInAddress } from '../api/members.ts';
import { t } from '../lib/text.ts';

/** The way to the OpenID provider, and why the last try led nowhere. Nothing where people sign in with keys only. */
export function SignInByProvider({ wish = {} }: { readonly wish?: SignInWish }) {
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
      {/* of the service, not of the console: the browser loads it */}
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
      return t('The sign-in service does not answer. Try again in a moment; a key works meanwhile.');
    case 'expired':
      return t('That took too long, or another tab began to sign in as well. Try again.');
    case 'too_many':
      return t('Too many sign-ins failed from here. Wait a minute, then try again.');
    case 'not_a_member':
      return t('You are signed in there, but a member of no account here. Ask an owner to invite you.');
    case 'invitation_ended':
      return t('This invitation was used, withdrawn or is older than seven days. Ask for another one.');
    case 'invitation_for_another':
      return t('This invitation is for another e-mail address than the one you signed in with.');
    case 'email_not_verified':
      return t('The sign-in service tells no verified e-mail address of yours, which an invitation needs.');
    case 'not_an_operator':
      return t('The sign-in service does not say that you are an operator here.');
    case 'account_full':
      return t('The account has as many keys and members as it may. Ask an owner to make room.');
    default:
      return t('The sign-in service did not vouch for you. Try again.');
  }
}

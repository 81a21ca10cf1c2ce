import { BASE } from '../lib/location.ts';
import { send } from './client.ts';
import { queryClient } from './queries.ts';
import { currentSession } from './session.ts';
import type { Session } from './types.gen.ts';

/** Name of the OpenID provider that people sign in with; undefined if only keys can sign in. */
export const SIGN_IN_NAME: string | undefined = document.querySelector<HTMLMetaElement>(
  'meta[name="tollgate-sign-in"]',
)?.content;

export interface SignInOptions {
  /** Page to open afterwards. */
  readonly next?: string | undefined;
  /** Secret from the link of an invitation. */
  readonly invitation?: string | undefined;
  /** Account to open. */
  readonly account?: string | undefined;
  /** Asks for the password even if the person is already signed in at the provider. */
  readonly again?: boolean;
}

/** Returns the address where a person signs in. */
export function signInAddress({ next, invitation, account, again }: SignInOptions): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({
    next,
    invitation,
    account,
    again: again ? 'yes' : undefined,
  })) {
    if (value !== undefined && value !== '') {
      query.set(name, value);
    }
  }
  const text = query.toString();
  return `${BASE}oidc/start${text === '' ? '' : `?${text}`}`;
}

/** Switches to another account of the person and reloads the page, so that nothing of the previous account remains. */
export async function moveTo(account: string): Promise<void> {
  await send<Session>('POST', '/api/v1/session/account', { body: { account_id: account } });
  queryClient.clear();
  // the page that opens announces the account to other tabs
  window.location.assign(BASE);
}

/** Returns whether the user may call models and stop tasks: everyone but viewers may. */
export function mayCall(): boolean {
  return currentSession().member?.role !== 'viewer';
}

/** Returns whether the user may create and change keys. */
export function mayChangeKeys(): boolean {
  const { member, key } = currentSession();
  return member === null ? key.role === 'owner' : member.role !== 'viewer';
}

/** Returns whether the user may manage billing and members. */
export function isOwner(): boolean {
  const { member, key } = currentSession();
  return (member?.role ?? key.role) === 'owner';
}

import { BASE } from '../lib/location.ts';
import { send } from './client.ts';
import { queryClient } from './queries.ts';
import { currentSession } from './session.ts';
import type { Session } from './types.gen.ts';

/** What people sign in with as themselves; undefined where only keys do. */
export const SIGN_IN_NAME: string | undefined = document.querySelector<HTMLMetaElement>(
  'meta[name="tollgate-sign-in"]',
)?.content;

export interface SignInWish {
  /** Page to go on with. */
  readonly next?: string | undefined;
  /** Secret of an invitation's link. */
  readonly invitation?: string | undefined;
  /** Account to come to. */
  readonly account?: string | undefined;
  /** Ask for the password even of somebody who is signed in at the provider. */
  readonly again?: boolean;
}

/** Where a browser goes to sign in as a person. */
export function signInAddress({ next, invitation, account, again }: SignInWish): string {
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

/** Goes on in another account of the person, on a page that is loaded anew: nothing of the one before stays. */
export async function moveTo(account: string): Promise<void> {
  await send<Session>('POST', '/api/v1/session/account', { body: { account_id: account } });
  queryClient.clear();
  window.location.assign(BASE);
}

/** Whether models may be called and tasks be stopped: all but viewers may. */
export function mayCall(): boolean {
  return currentSession().member?.role !== 'viewer';
}

/** Whether keys may be made and changed. */
export function mayChangeKeys(): boolean {
  const { member, key } = currentSession();
  return member === null ? key.role === 'owner' : member.role !== 'viewer';
}

/** Whether money and people are theirs to see to. */
export function isOwner(): boolean {
  const { member, key } = currentSession();
  return (member?.role ?? key.role) === 'owner';
}

import { onlineManager } from '@tanstack/query-core';
import { SharedValue } from '../lib/shared-value.ts';
import { get, type LoginNeed, onLoginNeeded, send, setProof } from './client.ts';
import { queryClient } from './queries.ts';
import { announceSession, onOtherSession } from './session-news.ts';
import type { Session } from './types.gen.ts';

export type LoginReason = Exclude<LoginNeed, 'renewed'>;

interface WantedLogin {
  readonly reason: LoginReason;
  readonly done: () => void;
  readonly promise: Promise<void>;
}

/** The current session: undefined while loading, null if no one is signed in. */
const session = new SharedValue<Session | null | undefined>(undefined);
const wanted = new SharedValue<WantedLogin | undefined>(undefined);

/** Loads the current session, and from then on asks for a login whenever one is missing. */
export async function loadSession(): Promise<void> {
  onLoginNeeded((need) => (need === 'renewed' ? renewSession() : askLogin(need)));
  onOtherSession((holder) => void follow(holder));
  const { data } = await get<Session | null>('/api/v1/session');
  setSession(data);
  if (data) {
    // perhaps someone has just signed in on the page of the OpenID provider
    announceSession(holderOf(data));
  }
}

/** Follows what another tab has announced. */
async function follow(holder: string): Promise<void> {
  const present = session.value;
  if (present === undefined) {
    return;
  }
  if (holder !== holderOf(present)) {
    window.location.reload();
  } else if (wanted.value) {
    await renewSession();
    if (session.value?.csrf !== present?.csrf) {
      endLogin();
    }
  }
}

function askLogin(reason: LoginReason): Promise<void> {
  const login = wanted.value ?? waiting(reason);
  wanted.set(login);
  return login.promise;
}

function endLogin(): void {
  wanted.value?.done();
  wanted.set(undefined);
}

/**
 * Reads the session that another tab has begun. If it is somebody else's, nothing on this page is valid: reloads it, and never
 * resolves.
 */
async function renewSession(): Promise<void> {
  const { data } = await get<Session | null>('/api/v1/session');
  if (!session.value || holderOf(data) !== holderOf(session.value)) {
    window.location.reload();
    return new Promise(() => undefined);
  }
  setSession(data);
}

/** Returns who is signed in, for comparison. */
function holderOf(of: Session | null): string {
  return of === null ? '' : `${of.account.id} ${of.key.hash} ${of.key.role}`;
}

/** Exchanges a key for a session. Throws ApiError. */
export async function signIn(apiKey: string): Promise<void> {
  const sending = { body: { api_key: apiKey }, isLogin: true };
  const { data } = await send<Session>('POST', '/api/v1/sessions', sending);
  const before = session.value?.account.id;
  if (before !== undefined && before !== data.account.id) {
    queryClient.clear();
  }
  setSession(data);
  announceSession(holderOf(data));
  endLogin();
}

/** Ends the session of this browser. */
export async function signOut(): Promise<void> {
  // reads would be rejected once the session has ended: pending ones are canceled, and those that start meanwhile wait
  onlineManager.setOnline(false);
  try {
    await queryClient.cancelQueries();
    await send('DELETE', '/api/v1/session');
    queryClient.clear();
    setSession(null);
    announceSession(holderOf(null));
  } finally {
    onlineManager.setOnline(true);
  }
}

/** Returns the current session, and whether a login is needed over the page. */
export function useSession(): {
  readonly session: Session | null | undefined;
  readonly wanted: LoginReason | undefined;
} {
  const [present, login] = [session.use(), wanted.use()];
  // after signing out the login page itself is shown, so reads rejected meanwhile must not ask for another login
  return { session: present, wanted: present ? login?.reason : undefined };
}

/** Returns the current session. Throws Error outside pages that require one. */
export function currentSession(): Session {
  if (!session.value) {
    throw new Error('no one is signed in');
  }
  return session.value;
}

function setSession(next: Session | null): void {
  setProof(next?.csrf ?? '');
  session.set(next);
}

function waiting(reason: LoginReason) {
  let done: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    done = resolve;
  });
  return { reason, done, promise };
}

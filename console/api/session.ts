import { useEffect, useState } from 'preact/hooks';
import { get, onLoginNeeded, send, setProof } from './client.ts';
import { queryClient } from './queries.ts';
import type { Session } from './types.gen.ts';

export type LoginReason = 'signed_out' | 'too_old';

/** Who is signed in: undefined while it is asked, null for nobody. */
let session: Session | null | undefined;
let wanted:
  | { readonly reason: LoginReason; readonly done: () => void; readonly promise: Promise<void> }
  | undefined;
const listeners = new Set<() => void>();

/** Asks the service who is signed in, and from then on for a login wherever one is missing. */
export async function loadSession(): Promise<void> {
  onLoginNeeded((reason) => {
    wanted ??= waiting(reason);
    tell();
    return wanted.promise;
  });
  const { data } = await get<Session | null>('/api/v1/session');
  setSession(data);
}

/** Exchanges a key for a session. Throws ApiError. */
export async function signIn(apiKey: string): Promise<void> {
  const { data } = await send<Session>('POST', '/api/v1/sessions', { body: { api_key: apiKey } });
  const isSomebodyElse = session !== null && session !== undefined && session.account.id !== data.account.id;
  if (isSomebodyElse) {
    queryClient.clear();
  }
  setSession(data);
  wanted?.done();
  wanted = undefined;
  tell();
}

/** Ends the session of this browser. */
export async function signOut(): Promise<void> {
  await send('DELETE', '/api/v1/session');
  queryClient.clear();
  setSession(null);
}

/** Who is signed in, and whether a login is wanted over the page. */
export function useSession(): {
  readonly session: Session | null | undefined;
  readonly wanted: LoginReason | undefined;
} {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return { session, wanted: wanted?.reason };
}

/** The signed-in session. Throws Error outside the pages of somebody who has signed in. */
export function currentSession(): Session {
  if (!session) {
    throw new Error('nobody is signed in');
  }
  return session;
}

function setSession(next: Session | null): void {
  session = next;
  setProof(next?.csrf ?? '');
  tell();
}

function waiting(reason: LoginReason) {
  let done: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    done = resolve;
  });
  return { reason, done, promise };
}

function tell(): void {
  for (const listener of listeners) {
    listener();
  }
}

import { SharedValue } from '../lib/shared-value.ts';
import { get, onLoginNeeded, send, setProof } from './client.ts';
import { queryClient } from './queries.ts';
import type { Session } from './types.gen.ts';

export type LoginReason = 'signed_out' | 'too_old';

interface WantedLogin {
  readonly reason: LoginReason;
  readonly done: () => void;
  readonly promise: Promise<void>;
}

/** Who is signed in: undefined while it is asked, null for nobody. */
const session = new SharedValue<Session | null | undefined>(undefined);
const wanted = new SharedValue<WantedLogin | undefined>(undefined);

/** Asks the service who is signed in, and from then on for a login wherever one is missing. */
export async function loadSession(): Promise<void> {
  onLoginNeeded((reason) => {
    const login = wanted.value ?? waiting(reason);
    wanted.set(login);
    return login.promise;
  });
  const { data } = await get<Session | null>('/api/v1/session');
  setSession(data);
}

/** Exchanges a key for a session. Throws ApiError. */
export async function signIn(apiKey: string): Promise<void> {
  const { data } = await send<Session>('POST', '/api/v1/sessions', { body: { api_key: apiKey } });
  const before = session.value?.account.id;
  if (before !== undefined && before !== data.account.id) {
    queryClient.clear();
  }
  setSession(data);
  wanted.value?.done();
  wanted.set(undefined);
}

/** Ends the session of this browser. */
export async function signOut(): Promise<void> {
  // what is being read would be refused as soon as the session has ended
  await queryClient.cancelQueries();
  await send('DELETE', '/api/v1/session');
  queryClient.clear();
  setSession(null);
}

/** Who is signed in, and whether a login is wanted over the page. */
export function useSession(): {
  readonly session: Session | null | undefined;
  readonly wanted: LoginReason | undefined;
} {
  const [present, login] = [session.use(), wanted.use()];
  // a read that began while the session ended was refused: whoever signed out sees the login itself, and is not asked once more
  return { session: present, wanted: present ? login?.reason : undefined };
}

/** The signed-in session. Throws Error outside the pages of somebody who has signed in. */
export function currentSession(): Session {
  if (!session.value) {
    throw new Error('nobody is signed in');
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

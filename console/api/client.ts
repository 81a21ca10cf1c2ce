import { SERVICE } from '../lib/location.ts';

/** An error as reported by the API. */
export class ApiError extends Error {
  readonly status: number;
  /** Stable code, for programs. Without a response: `network` for a read, `outcome_unknown` for anything else. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    message: string,
    facts: {
      status: number;
      code: string;
      requestId?: string | undefined;
      retryAfterSeconds?: number | undefined;
    },
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

export interface Answer<T> {
  readonly data: T;
  /** Path of the next page, from the `Link` header. */
  readonly next: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Sending {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The request is itself a login: if it is rejected, there is no point in asking for one. */
  readonly isLogin?: boolean;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Why a request needs someone to sign in first. `renewed`: another tab has signed in, so only the CSRF proof is outdated. */
export type LoginNeed = 'signed_out' | 'too_old' | 'renewed';

/** Called when the service wants another session or proof. Resolves once the request can be repeated. */
type AskLogin = (need: LoginNeed) => Promise<void>;

let proof = '';
let askLogin: AskLogin = () => Promise.reject(new Error('no login handler is set'));

/** Sets the CSRF proof that is sent with every change. It is kept in memory only. */
export function setProof(csrf: string): void {
  proof = csrf;
}

export function onLoginNeeded(ask: AskLogin): void {
  askLogin = ask;
}

/** Returns the path of an operation, including the path prefix of the installation. */
export function apiPath(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') {
      parameters.set(name, String(value));
    }
  }
  const text = parameters.toString();
  return `${SERVICE}${path.replace(/^\//, '')}${text === '' ? '' : `?${text}`}`;
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer<T>> {
  return call<T>('GET', apiPath(path, query), signal ? { signal } : {});
}

/** Reads a page from the path of a `Link` header. */
export function getNext<T>(next: string): Promise<Answer<T>> {
  return call<T>('GET', next, {});
}

export function send<T>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  sending: Sending = {},
): Promise<Answer<T>> {
  return call<T>(method, apiPath(path), sending);
}

/** Sends a request and returns the response if it succeeded. Throws ApiError; asks for a login if that is what is missing. */
export async function request(method: string, url: string, sending: Sending): Promise<Response> {
  const response = await attempt(method, url, sending);
  if (response.ok) {
    return response;
  }
  const error = await errorOf(response);
  const need = loginNeed(error);
  if (!need || sending.isLogin) {
    throw error;
  }
  await askLogin(need);
  const again = await attempt(method, url, sending);
  if (!again.ok) {
    throw await errorOf(again);
  }
  return again;
}

async function call<T>(method: string, url: string, sending: Sending): Promise<Answer<T>> {
  const response = await request(method, url, sending);
  const body = (await response.json()) as Record<string, unknown>;
  const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  return { data: ('data' in body ? body.data : body) as T, next: next && withPrefix(next), body };
}

/** Adds the path prefix of a proxy: the service itself does not know it. */
function withPrefix(path: string): string {
  return path.startsWith(SERVICE) && SERVICE !== '/' ? path : `${SERVICE}${path.replace(/^\//, '')}`;
}

async function attempt(
  method: string,
  url: string,
  { body, headers = {}, signal }: Sending,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && { 'x-csrf-token': proof }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') {
      throw error;
    }
    const code = method === 'GET' ? 'network' : 'outcome_unknown';
    throw new ApiError('The service cannot be reached.', { status: 0, code });
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => undefined)) as
    | { error?: { code?: string; message?: string }; request_id?: string }
    | undefined;
  const wait = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
  return new ApiError(body?.error?.message ?? `The service responded with status ${response.status}.`, {
    status: response.status,
    code: body?.error?.code ?? 'internal_error',
    requestId: body?.request_id ?? response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isNaN(wait) ? undefined : wait,
  });
}

function loginNeed({ status, code }: ApiError): LoginNeed | undefined {
  if (code === 'csrf_rejected') {
    return 'renewed';
  }
  if (status === 401) {
    return 'signed_out';
  }
  return code === 'login_too_old' ? 'too_old' : undefined;
}

import { NotPublicError, publicLookup, type ResolveAll, rejectPrivateLiteral } from '../lib/ip-address.ts';
import { tlsRefusal } from '../lib/tls-refusal.ts';
import { CallTimeouts } from '../upstream/call-timeouts.ts';
import { HttpClient } from '../upstream/http-client.ts';
import { transportErrorOf } from '../upstream/transport-error.ts';

export interface WebhookSenderSettings {
  /** Allows plain http and private addresses; for tests and development only. */
  readonly allowPrivateTargets: boolean;
  /** Maximum duration of a try in ms, from connect to the end of the response. */
  readonly timeoutMs?: number;
  /** Resolves names; defaults to the system's resolver. */
  readonly resolve?: ResolveAll;
}

export interface TryResult {
  /** HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Stable snake_case code; null when the endpoint accepted the event. */
  readonly error: string | null;
  /** Whether another try may succeed. */
  readonly retryable: boolean;
  readonly durationMs: number;
}

const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const CONNECTIONS_PER_HOST_MAX = 8;
const GONE = 410;

/**
 * Posts events to customers' endpoints. Follows no redirects, reads little of the response, connects only to public addresses
 * unless allowed otherwise.
 */
export class WebhookSender {
  readonly #settings: WebhookSenderSettings;
  readonly #http: HttpClient;

  constructor(settings: WebhookSenderSettings) {
    this.#settings = settings;
    const { allowPrivateTargets, resolve } = settings;
    this.#http = new HttpClient({
      connections: CONNECTIONS_PER_HOST_MAX,
      connectMs: CONNECT_TIMEOUT_MS,
      skipsContinue: true,
      ...(allowPrivateTargets ? {} : { lookup: publicLookup({ resolve }) }),
    });
  }

  /** Makes one try. Never throws. */
  async send(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<TryResult> {
    const startedAt = performance.now();
    const finish = (result: Omit<TryResult, 'durationMs'>): TryResult => ({
      ...result,
      durationMs: Math.round(performance.now() - startedAt),
    });
    const clocks = new CallTimeouts(this.#settings.timeoutMs ?? TIMEOUT_MS);
    try {
      const target = new URL(url);
      if (!this.#settings.allowPrivateTargets) {
        if (target.protocol !== 'https:') {
          return finish(REFUSED);
        }
        rejectPrivateLiteral(target);
      }
      const { origin, pathname, search } = target;
      const sent = { 'content-type': 'application/json', 'user-agent': 'Tollgate-Webhooks/1', ...headers };
      const call = { origin, method: 'POST', path: pathname + search, headers: sent, body } as const;
      const response = await this.#http.request(call, clocks);
      // The response body does not matter, but a connection can only be reused once it has been read.
      await response.body.dump({ limit: ANSWER_BYTES_MAX }).catch(() => undefined);
      const status = response.statusCode;
      if (status >= 200 && status < 300) {
        return finish({ status, error: null, retryable: false });
      }
      return finish({ status, error: `http_${status}`, retryable: status !== GONE });
    } catch (error) {
      return finish({ status: null, ...describe(error) });
    } finally {
      clocks.stop();
    }
  }

  /** Closes idle connections and ends tries in progress. */
  async close(): Promise<void> {
    await this.#http.close();
  }
}

const REFUSED = { status: null, error: 'target_refused', retryable: false } as const;

const CODES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'name_not_resolved',
  EAI_AGAIN: 'name_not_resolved',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
};

/** Returns codes only: an error's text could reveal our internal network to a customer. */
function describe(error: unknown): { error: string; retryable: boolean } {
  if (error instanceof NotPublicError) {
    return REFUSED;
  }
  const { reason, code, cause } = transportErrorOf(error);
  if (cause instanceof NotPublicError) {
    return REFUSED;
  }
  if (tlsRefusal(cause) !== undefined) {
    return { error: 'tls_failed', retryable: true };
  }
  return { error: reason === 'timeout' ? 'timeout' : (CODES[code] ?? 'connection_failed'), retryable: true };
}

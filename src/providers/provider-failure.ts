import { maskKeys } from '../lib/mask-keys.ts';
import type { TokenUsage } from '../lib/usage.ts';
import type { CallClocks } from '../upstream/call-clocks.ts';
import { TransportError } from '../upstream/transport-error.ts';

/** What can go wrong with an upstream call, as far as we must act differently on it. */
export type FailureReason =
  | 'unreachable'
  | 'timeout'
  | 'rate_limited'
  | 'overloaded'
  | 'failed'
  | 'malformed'
  | 'interrupted'
  | 'misconfigured'
  | 'rejected'
  | 'unsupported'
  | 'context_length'
  | 'content_policy'
  | 'too_large'
  | 'aborted'
  | 'circuit_open';

interface Policy {
  /** The same provider may be asked again. */
  readonly retry: boolean;
  /** The next provider of the route list may be asked. */
  readonly fallback: boolean;
  /** How the circuit breaker reads it. A fault of the request says nothing about the provider. */
  readonly health: 'failure' | 'cooldown' | 'neutral';
}

const POLICIES: Readonly<Record<FailureReason, Policy>> = {
  unreachable: { retry: true, fallback: true, health: 'failure' },
  // Not retried on the same provider: it may be working on the first call, and will bill it.
  timeout: { retry: false, fallback: true, health: 'failure' },
  rate_limited: { retry: true, fallback: true, health: 'cooldown' },
  overloaded: { retry: true, fallback: true, health: 'failure' },
  failed: { retry: true, fallback: true, health: 'failure' },
  malformed: { retry: false, fallback: true, health: 'failure' },
  interrupted: { retry: true, fallback: true, health: 'failure' },
  misconfigured: { retry: false, fallback: true, health: 'failure' },
  rejected: { retry: false, fallback: false, health: 'neutral' },
  // Another provider of the route list may take it.
  unsupported: { retry: false, fallback: true, health: 'neutral' },
  context_length: { retry: false, fallback: false, health: 'neutral' },
  content_policy: { retry: false, fallback: false, health: 'neutral' },
  too_large: { retry: false, fallback: false, health: 'neutral' },
  aborted: { retry: false, fallback: false, health: 'neutral' },
  circuit_open: { retry: false, fallback: true, health: 'neutral' },
};

export interface FailureDetails {
  /** HTTP status of the provider's answer, if there was one. */
  readonly status?: number;
  /** How long the provider asks to be left alone, in ms. */
  readonly retryAfterMs?: number;
  /** The provider's own words about it. */
  readonly said?: string | undefined;
  /** The request never left: nothing in it can have been the cause. */
  readonly unsent?: boolean;
  /** What the provider reports for an answer that cannot be passed on. */
  readonly usage?: TokenUsage | undefined;
  readonly cause?: unknown;
}

/** The most that is kept of what a provider says about a failure, in UTF-16 units. */
const SAID_MAX = 2_000;

/**
 * A failed upstream call. What the provider says may quote prompts, keys or account names: it stands neither in the message nor
 * among the members that a log prints.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly reason: FailureReason;
  readonly policy: Policy;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly unsent: boolean;
  readonly usage: TokenUsage | undefined;
  readonly #said: string;

  constructor(reason: FailureReason, details: FailureDetails = {}) {
    super(`provider call ${reason}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.policy = POLICIES[reason];
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.unsent = details.unsent ?? false;
    this.usage = details.usage;
    this.#said = maskKeys((details.said ?? '').slice(0, SAID_MAX));
  }

  /** The provider's own words but for keys in them; empty when it said nothing. */
  get said(): string {
    return this.#said;
  }
}

/** The failure of a call for which the provider reports usage all the same; other errors as they are. */
export function withUsage(error: unknown, usage: TokenUsage | undefined): unknown {
  return error instanceof ProviderFailure && usage
    ? new ProviderFailure(error.reason, { cause: error, usage, said: error.said })
    : error;
}

/**
 * What an error thrown by a call means: a failure is itself. `otherwise`: how a connection is named that broke when nobody can say
 * more.
 */
export function failureOfThrown(
  error: unknown,
  clocks: CallClocks,
  otherwise: 'unreachable' | 'interrupted',
): ProviderFailure {
  if (error instanceof ProviderFailure) {
    return error;
  }
  const explained = clocks.explain(error);
  if (!(explained instanceof TransportError)) {
    return new ProviderFailure('aborted');
  }
  const { reason, sent, cause, words } = explained;
  switch (reason) {
    case 'timeout':
      return new ProviderFailure('timeout');
    case 'too_long':
      return new ProviderFailure('malformed');
    default:
      return new ProviderFailure(otherwise, { cause, unsent: !sent, said: sent ? undefined : words });
  }
}

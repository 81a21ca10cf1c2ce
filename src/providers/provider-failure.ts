import { maskKeys } from '../lib/redaction.ts';
import type { ReportedUsage } from '../lib/usage.ts';
import type { CallTimeouts } from '../upstream/call-timeouts.ts';
import { TransportError } from '../upstream/transport-error.ts';

/** Reasons why an upstream call fails, distinguished only where they are handled differently. */
export type FailureReason =
  | 'unreachable'
  | 'timeout'
  | 'rate_limited'
  | 'overloaded'
  | 'failed'
  | 'malformed'
  | 'garbled'
  | 'too_long'
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
  /** Whether the call may be retried on the same provider. */
  readonly retry: boolean;
  /** Whether the next provider in the route list may be tried. */
  readonly fallback: boolean;
  /** How the circuit breaker counts it. A faulty request says nothing about the provider's health. */
  readonly health: 'failure' | 'cooldown' | 'neutral';
}

const POLICIES: Readonly<Record<FailureReason, Policy>> = {
  unreachable: { retry: true, fallback: true, health: 'failure' },
  // Not retried on the same provider: it may still be working on the first call, and will bill it.
  timeout: { retry: false, fallback: true, health: 'failure' },
  rate_limited: { retry: true, fallback: true, health: 'cooldown' },
  overloaded: { retry: true, fallback: true, health: 'failure' },
  failed: { retry: true, fallback: true, health: 'failure' },
  malformed: { retry: false, fallback: true, health: 'failure' },
  // The model wrote what its own server cannot read: chance, or the request. Another try often does better.
  garbled: { retry: true, fallback: true, health: 'neutral' },
  // Another try or provider would answer as much, and bill it.
  too_long: { retry: false, fallback: false, health: 'neutral' },
  interrupted: { retry: true, fallback: true, health: 'failure' },
  misconfigured: { retry: false, fallback: true, health: 'failure' },
  rejected: { retry: false, fallback: false, health: 'neutral' },
  // Another provider in the route list may support it.
  unsupported: { retry: false, fallback: true, health: 'neutral' },
  context_length: { retry: false, fallback: false, health: 'neutral' },
  content_policy: { retry: false, fallback: false, health: 'neutral' },
  too_large: { retry: false, fallback: false, health: 'neutral' },
  aborted: { retry: false, fallback: false, health: 'neutral' },
  circuit_open: { retry: false, fallback: true, health: 'neutral' },
};

export interface FailureDetails {
  /** HTTP status of the provider's response, if there was one. */
  readonly status?: number;
  /** The pause that the provider asks for, in ms. */
  readonly retryAfterMs?: number;
  /** The provider's error message. */
  readonly said?: string | undefined;
  /** Whether the request was never sent, so its content cannot have been the cause. */
  readonly unsent?: boolean;
  /** The usage that the provider reports for an answer that cannot be passed on. */
  readonly usage?: ReportedUsage | undefined;
  readonly cause?: unknown;
}

/** Maximum length kept of a provider's error message, in UTF-16 units. */
const SAID_MAX = 2_000;

/**
 * A failed upstream call. The provider's message may quote prompts, keys or account names, so it is neither part of the error's message nor
 * among the members that a log prints.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly reason: FailureReason;
  readonly policy: Policy;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly unsent: boolean;
  readonly usage: ReportedUsage | undefined;
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

  /** The provider's error message with keys masked; empty if there was none. */
  get said(): string {
    return this.#said;
  }
}

/** Returns the failure with the usage that the provider reported for its answer. Returns other errors unchanged. */
export function withUsage(error: unknown, usage: ReportedUsage | undefined): unknown {
  return error instanceof ProviderFailure && usage
    ? new ProviderFailure(error.reason, { cause: error, usage, said: error.said })
    : error;
}

/**
 * Like {@link withUsage}, but only for an answer that cannot be read. A failure before the first byte is free, whatever the provider had
 * reported until then.
 */
export function withUsageIfUnreadable(error: unknown, usage: ReportedUsage | undefined): unknown {
  return error instanceof ProviderFailure && error.reason === 'malformed' ? withUsage(error, usage) : error;
}

/**
 * Converts an error thrown by a call to a failure; returns a failure unchanged. `otherwise` is the reason for a broken connection about
 * which nothing more is known.
 */
export function failureOfThrown(
  error: unknown,
  clocks: CallTimeouts,
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
      return new ProviderFailure('too_long');
    default:
      return new ProviderFailure(otherwise, { cause, unsent: !sent, said: sent ? undefined : words });
  }
}

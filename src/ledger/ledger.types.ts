import type { NanoUsd } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { TokenUsage, UsageSource } from '../lib/usage.ts';

/** The parts a charge is made of; every part is also a `line_item` of the cost report. */
export const LINE_ITEMS = [
  'input',
  'output',
  'cache_read',
  'cache_write',
  'reasoning',
  'request',
  'image',
  'video',
] as const;
export type LineItem = (typeof LINE_ITEMS)[number];

/** Nano-USD by line item; absent items are zero. The lines of a charge add up to it exactly. */
export type ChargeLines = Readonly<Partial<Record<LineItem, NanoUsd>>>;

export interface Charge {
  readonly amount: NanoUsd;
  readonly lines: ChargeLines;
}

/** A task created together with its hold, in the same statement. Its id is the hold's id. */
export interface TaskDraft {
  readonly kind: 'image' | 'video';
  /** The engine pool whose queue the relay feeds. */
  readonly pool: string;
  /** The engine input as JSON; deleted when the task ends unless the configuration keeps prompts. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The resolved seed (never −1), 0 … 9,999,999,999. */
  readonly seed: bigint;
  readonly webhookUrl: string | null;
  /** Time after which the task fails if it has not run or finished, in ms from now by the database's clock. */
  readonly deadlineMs: number;
}

export interface HoldRequest {
  /** The generation id (UUID text form). Also the idempotency key of the hold: sending it twice holds once. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly requestId: string;
  /** The literal path, as shown in reports. */
  readonly endpoint: string;
  readonly model: string;
  /** Id of the price version that will be charged. */
  readonly priceVersion: string;
  /** The most the call can cost, in nano-USD. */
  readonly amount: NanoUsd;
  /** The smallest useful hold, in nano-USD: when `amount` is not affordable, as much as possible above this is held. */
  readonly minimum: NanoUsd;
  readonly task?: TaskDraft;
}

export interface Hold {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** What was actually held, between `minimum` and `amount`, in nano-USD. Settling for more takes what is free. */
  readonly granted: NanoUsd;
}

export type GenerationStatus = 'completed' | 'failed' | 'cancelled';

/** One call to a provider inside a generation, failed ones included. */
export interface ProviderAttempt {
  readonly provider: string;
  readonly model: string;
  /** `ok` or a stable snake_case reason. */
  readonly outcome: string;
  readonly latencyMs: number;
  /** The provider's own description of its failure, for operators only. */
  readonly said?: string;
  /** What the provider bills us for the attempt, in nano-USD as decimal text, when known. */
  readonly cost?: string;
}

/** A finished file of a task, stored with the charge. */
export interface TaskOutput {
  readonly index: number;
  readonly variant: 'original' | 'thumbnail' | 'poster';
  readonly storageKey: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  readonly durationMs: number | null;
  readonly sha256: string;
}

/** The end of a task, written in the transaction that settles its hold. */
export interface TaskEnding {
  /** The fence: only the claim with this number may end the task. Null for endings that need no claim (cancel, deadline). */
  readonly attempt: number | null;
  /** The states the task may be in. In any other state, someone ended or claimed it first. */
  readonly from: readonly string[];
  readonly outputs: readonly TaskOutput[];
  /** How long the files are kept, in ms from now. */
  readonly mediaTtlMs: number;
  /** Whether the task's parameters (including the prompt) outlive it. */
  readonly keepParameters: boolean;
}

/** How a call was metered, in addition to the usage that was charged. Kept on the generation. */
export interface Metering {
  /** Paths of request members that were sent to no provider. */
  readonly ignored?: readonly string[];
  /** Set when the two counts are far apart: the provider's report and our own count, in tokens. */
  readonly reported?: TokenUsage;
  readonly counted?: Partial<TokenUsage>;
}

/** The model that answered, when it differs from the one in the hold, and the prices that are charged. */
export interface ServedModel {
  readonly model: string;
  /** Id of its price version. */
  readonly priceVersion: string;
}

export interface Settlement {
  readonly holdId: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly status: GenerationStatus;
  /** Undefined: the model in the hold. */
  readonly served?: ServedModel | undefined;
  /**
   * What the call costs the customer. What exceeds the hold is taken from what is free on the account and the key, never from the holds
   * of other calls; the rest is written off.
   */
  readonly charge: Charge;
  /** Cost beyond the caller's limit for this call, in nano-USD: our loss, never charged. */
  readonly beyondMaxCost: NanoUsd;
  /**
   * Set for an answer that its provider broke off or that nobody received. The charge is waived while the account's waivers of the last
   * hour stay within this amount, in nano-USD.
   */
  readonly waiverMax?: NanoUsd | undefined;
  /** More about how the call was metered; undefined when there was nothing out of the ordinary. */
  readonly metering?: Metering | undefined;
  readonly usage: TokenUsage;
  readonly usageSource: UsageSource;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly provider: string | null;
  readonly providerCost: NanoUsd | null;
  readonly attempts: readonly ProviderAttempt[];
  readonly finishReason: string | null;
  readonly latencyMs: number;
  /** Null for a whole answer, which comes at once, and where nothing came. */
  readonly firstTokenMs: number | null;
  readonly streamed: boolean;
  readonly task?: TaskEnding;
}

export interface SettleResult {
  /** `settled`: by this statement; `closed`: earlier (the stored charge is returned); `fenced`: the task belongs to another claim. */
  readonly outcome: 'settled' | 'closed' | 'fenced';
  /** The charge in the ledger, in nano-USD (0 for `fenced`). */
  readonly charge: NanoUsd;
  /** The part of the requested charge that nobody pays because neither hold nor free money covered it, in nano-USD. */
  readonly shortfall: NanoUsd;
  /** The part of the requested charge that the customer is spared because the provider broke off, in nano-USD. */
  readonly waived: NanoUsd;
}

/** What a live call has used so far. If the process dies, the reaper settles exactly this. */
export interface MeteredSoFar {
  /** Undefined: the model in the hold. */
  readonly served?: ServedModel | undefined;
  readonly charge: Charge;
  readonly usage: TokenUsage;
}

/** Access to the money. The effect of every method is durable when its promise resolves. */
export interface Ledger {
  /**
   * Holds money on the account and the key in one statement. Throws AppError: insufficient_credits, key_limit_exceeded,
   * key_disabled, key_expired, invalid_api_key, account_suspended, model_not_allowed, service_unavailable.
   * A request whose signal aborts before it is sent is dropped (throws the signal's reason).
   */
  reserve(request: HoldRequest, signal?: StopSignal): Promise<Hold>;
  /**
   * Throws what `reserve` would (insufficient_credits, key_limit_exceeded) when the account or key cannot spend `amount` nano-USD now;
   * anything at all if left out. Holds nothing. For callers who seem to have no money, before any work is done for them.
   */
  requireFunds(accountId: string, apiKeyId: string, amount?: NanoUsd): Promise<void>;
  /** Adds to an open hold. Returns the new total in nano-USD, or undefined when it is not affordable or the hold is closed. */
  extend(hold: Hold, amount: NanoUsd): Promise<NanoUsd | undefined>;
  /** Ends a hold: charges, releases the rest, writes generation, ledger and roll-ups. Idempotent by hold id. Never dropped. */
  settle(settlement: Settlement): Promise<SettleResult>;
  /**
   * Keeps a call's hold alive while the process lives: renews it every 15 s with the current result of `metered`.
   * Returns a function that stops this, to be called once the hold is settled.
   */
  keepAlive(hold: Hold, metered: () => MeteredSoFar): () => void;
}

/** Who does something and what the audit log records about it; written in the same transaction. Names are those of `record_act`. */
export interface AuditedAct {
  /** Name of the operator or of the automatic process. */
  readonly actor: string;
  readonly request_id: string | null;
  /** Verb with its object's kind, e.g. `account.adjust`; when absent, nothing is written to the audit log. */
  readonly action?: string;
  /** Public id of the object. */
  readonly object?: string;
  readonly detail?: object;
}

/** Why an operator or a provider books an entry. Other reasons follow from the entry's type and contra account. */
export type BookingReason = 'grant' | 'goodwill' | 'correction' | 'dispute' | 'payment_refund';

/** Who books an entry and why. */
export interface BookingAct extends AuditedAct {
  readonly reason?: BookingReason;
}

export interface Violation {
  /** What should be true, starting with the invariant's number. */
  readonly claim: string;
  /** Id of the row that breaks it. */
  readonly object: string;
  readonly detail: string;
}

/** An owner key created together with its account. */
export interface NewOwnerKey {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly label: string;
}

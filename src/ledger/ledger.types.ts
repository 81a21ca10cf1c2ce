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

/** Nano-USD by line; absent lines are zero. The lines of a charge sum to it exactly. */
export type ChargeLines = Readonly<Partial<Record<LineItem, NanoUsd>>>;

export interface Charge {
  readonly amount: NanoUsd;
  readonly lines: ChargeLines;
}

/** A task that is born together with its hold, in the same statement. Its id is the hold's id. */
export interface TaskDraft {
  readonly kind: 'image' | 'video';
  /** The engine pool whose queue the relay feeds. */
  readonly pool: string;
  /** The engine input as JSON; deleted when the task ends unless prompts are configured to be kept. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The resolved seed (never −1), 0 … 9,999,999,999. */
  readonly seed: bigint;
  readonly webhookUrl: string | null;
  /** Ms from now, by the database's clock, after which the task fails unrun or unfinished. */
  readonly deadlineMs: number;
}

export interface HoldRequest {
  /** The generation id (UUID text form). Also the idempotency key of the hold: sending it twice holds once. */
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly requestId: string;
  /** The literal path, as it stands in reports. */
  readonly endpoint: string;
  readonly model: string;
  /** Id of the price version that will be charged. */
  readonly priceVersion: string;
  /** The most the call can cost, in nano-USD. */
  readonly amount: NanoUsd;
  /** The least that is worth holding, in nano-USD: when `amount` is not affordable, as much as possible above this is. */
  readonly minimum: NanoUsd;
  readonly task?: TaskDraft;
}

export interface Hold {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** What was really held, between `minimum` and `amount`, in nano-USD. Settling above it takes what is free. */
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
  /** What the provider said of its failure, for operators alone. */
  readonly said?: string;
  /** What the provider bills us for the attempt, in nano-USD as decimal text, when it can be known. */
  readonly cost?: string;
}

/** A finished file of a task, as it is stored beside the charge. */
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
  /** The fence: only the claim with this number may end the task. Null for an ending that needs no claim (cancel, deadline). */
  readonly attempt: number | null;
  /** The states the task may be in; anything else means somebody ended or claimed it first. */
  readonly from: readonly string[];
  readonly outputs: readonly TaskOutput[];
  /** How long the files are kept, in ms from now. */
  readonly mediaTtlMs: number;
  /** Whether the task's parameters (the prompt among them) outlive it. */
  readonly keepParameters: boolean;
}

/** How a call was metered, beside the usage that was charged. Kept on the generation. */
export interface Metering {
  /** Paths of members of the request that no provider was sent. */
  readonly ignored?: readonly string[];
  /** Both counts where they are far apart: the provider's report and ours, in tokens. */
  readonly reported?: TokenUsage;
  readonly counted?: Partial<TokenUsage>;
}

/** The model that answered, where it is another than the one the hold names, and the prices that are charged. */
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
  /** Undefined: as the hold says. */
  readonly served?: ServedModel | undefined;
  /**
   * What the call costs the customer. What is above the hold is taken from what is free on the account and the key, never from
   * what other calls hold; the rest is written off.
   */
  readonly charge: Charge;
  /** Cost beyond what the caller allowed this call, in nano-USD: our loss, never charged. */
  readonly beyondMaxCost: NanoUsd;
  /**
   * Set for an answer that its provider broke off, or that nobody got: the charge is waived while the account's waivers of the last hour stay within
   * this much, in nano-USD.
   */
  readonly waiverMax?: NanoUsd | undefined;
  /** What else is known about how the call was metered; undefined: nothing out of the ordinary. */
  readonly metering?: Metering | undefined;
  readonly usage: TokenUsage;
  readonly usageSource: UsageSource;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly provider: string | null;
  readonly providerCost: NanoUsd | null;
  readonly attempts: readonly ProviderAttempt[];
  readonly finishReason: string | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly streamed: boolean;
  readonly task?: TaskEnding;
}

export interface SettleResult {
  /** `settled`: by this statement; `closed`: earlier (the stored charge is returned); `fenced`: the task belongs to another claim. */
  readonly outcome: 'settled' | 'closed' | 'fenced';
  /** The charge that stands in the ledger, in nano-USD (0 for `fenced`). */
  readonly charge: NanoUsd;
  /** What the settlement asked for and nobody pays: neither hold nor free money covered it, in nano-USD. */
  readonly shortfall: NanoUsd;
  /** What the customer was let off because the provider broke off, in nano-USD. */
  readonly waived: NanoUsd;
}

/** What a live call has used up so far; a reaper settles exactly this if the process dies. */
export interface MeteredSoFar {
  /** Undefined: as the hold says. */
  readonly served?: ServedModel | undefined;
  readonly charge: Charge;
  readonly usage: TokenUsage;
}

/** The door to the money. Every method is durable when its promise resolves. */
export interface Ledger {
  /**
   * Holds money on the account and the key in one statement. Throws AppError: insufficient_credits, key_limit_exceeded,
   * key_disabled, key_expired, invalid_api_key, account_suspended, model_not_allowed, service_unavailable.
   * A request whose signal aborts before it was sent is dropped (throws the signal's reason).
   */
  reserve(request: HoldRequest, signal?: StopSignal): Promise<Hold>;
  /**
   * Throws what `reserve` would (insufficient_credits, key_limit_exceeded) when account or key cannot spend `amount` nano-USD now;
   * holds nothing. For a caller who seems to have no money, before work is done for it.
   */
  requireFunds(accountId: string, apiKeyId: string, amount: NanoUsd): Promise<void>;
  /** Adds to an open hold. Returns the new total in nano-USD, or undefined when it is not affordable or the hold is closed. */
  extend(hold: Hold, amount: NanoUsd): Promise<NanoUsd | undefined>;
  /** Ends a hold: charges, releases the rest, writes generation, ledger and roll-ups. Idempotent by hold id. Never dropped. */
  settle(settlement: Settlement): Promise<SettleResult>;
  /**
   * Keeps a call's hold alive while the process lives: renewed every 15 s with what `metered` says then.
   * Returns the function that stops it, to be called once it is settled.
   */
  keepAlive(hold: Hold, metered: () => MeteredSoFar): () => void;
}

/** Who does something and what the audit log will say of it; written in the transaction that does it. Names as in `record_act`. */
export interface AuditedAct {
  /** Name of the operator, or of what acts by itself. */
  readonly actor: string;
  readonly request_id: string | null;
  /** Verb with its object's kind, e.g. `account.adjust`; absent: nothing is written into the audit log. */
  readonly action?: string;
  /** Public id of what is acted on. */
  readonly object?: string;
  readonly detail?: object;
}

/** Why an operator or a provider books; what else an entry can be follows from its type and contra account. */
export type BookingReason = 'grant' | 'goodwill' | 'correction' | 'dispute' | 'payment_refund';

/** Who books an entry and why. */
export interface BookingAct extends AuditedAct {
  readonly reason?: BookingReason;
}

export interface Violation {
  /** What should be true, beginning with the invariant's number. */
  readonly claim: string;
  /** Id of the row that breaks it. */
  readonly object: string;
  readonly detail: string;
}

/** An owner key that is made together with its account. */
export interface NewOwnerKey {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly label: string;
}

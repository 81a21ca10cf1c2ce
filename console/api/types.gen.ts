// Written by `npm run generate` from openapi.json.

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly allowed_models: readonly (string)[] | null;
  readonly max_keys: number;
  readonly billing: {
    readonly name: string;
    readonly address: readonly (string)[];
    readonly tax_id: string | null;
  } | null;
  readonly rate_limits: {
    readonly requests_per_minute?: number;
    readonly tokens_per_minute?: number;
    readonly concurrency?: number;
    readonly queued_tasks?: number;
  } | null;
  readonly created_at: string;
  readonly erased_at: string | null;
  readonly total_credits: string;
  readonly total_usage: string;
  readonly remaining_credits: string;
  readonly held: string;
  readonly debt: string;
  readonly usage_24h: string;
  readonly usage_30d: string;
  readonly last_used_at: string | null;
  readonly currency: 'USD';
}

export interface AccountOverview {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly created_at: string;
  readonly remaining_credits: string;
  readonly held: string;
  readonly available: string;
  readonly debt: string;
  readonly currency: 'USD';
  readonly running_calls: number;
  readonly running_tasks: number;
  readonly limits: {
    readonly requests_per_minute: number;
    readonly tokens_per_minute: number;
    readonly concurrency: number;
  };
  readonly features: {
    readonly payments: string | null;
    readonly keep_prompts: boolean;
  };
}

export interface Alarm {
  readonly code: string;
  readonly object: string | null;
  readonly count: number | null;
  readonly seconds: number | null;
  readonly amount: string | null;
}

export interface Alerts {
  readonly url: string | null;
  readonly credits_low: number | null;
  readonly key_limit_near: number | null;
}

export interface ApiKey {
  readonly hash: string;
  readonly name: string;
  readonly account_id: string;
  readonly disabled: boolean;
  readonly usage: number;
  readonly created_at: string;
  readonly label: string;
  readonly limit: number | null;
  readonly limit_remaining: number | null;
  readonly limit_reset: string | null;
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  readonly rate_limits: {
    readonly requests_per_minute?: number;
    readonly tokens_per_minute?: number;
    readonly concurrency?: number;
  } | null;
  readonly role: string;
  readonly models: readonly (string)[] | null;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly object: string;
  readonly request_id: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface BalanceTransaction {
  readonly id: string;
  readonly type: string;
  readonly amount: Money;
  readonly balance_after: Money;
  readonly status: string;
  readonly created_at: string;
  readonly description: string;
  readonly reason_code: string;
  readonly contra: string;
  readonly related_generation_id: string | null;
  readonly related_checkout_session_id: string | null;
  readonly invoice_id: string;
}

export interface ChargeRecord {
  readonly id: string;
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly endpoint: string;
  readonly status: string;
  readonly model: string;
  readonly api_key_hash: string;
  readonly latency_ms: number;
  readonly usage: Usage;
  readonly charged_amount: string;
  readonly currency: 'USD';
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly usage_source: string;
  readonly cost_details: Readonly<Record<string, string>>;
  readonly price_version: string;
  readonly unit_prices: Readonly<Record<string, string>> | null;
  readonly finish_reason: string | null;
  readonly streamed: boolean;
  readonly first_token_ms: number | null;
  readonly ignored_parameters: readonly (string)[];
  readonly account_id: string;
  readonly account_name: string;
  readonly api_key_name: string;
  readonly request_id: string;
  readonly held: string;
  readonly not_charged: string;
  readonly provider: string | null;
  readonly provider_cost: string | null;
  readonly attempts: readonly ({
    readonly provider: string;
    readonly model: string;
    readonly outcome: string;
    readonly latency_ms: number;
    readonly cost: string | null;
    readonly said: string | null;
  })[];
  readonly reported_usage: Readonly<Record<string, number>> | null;
  readonly counted_usage: Readonly<Record<string, number>> | null;
  readonly transactions: readonly (LedgerEntry)[];
  readonly write_offs: readonly ({
    readonly reason: string;
    readonly amount: string;
    readonly created_at: string;
  })[];
}

export interface CheckoutSession {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly payment_status: string;
  readonly amount_total: string;
  readonly currency: 'USD';
}

export interface CostRow {
  readonly period_start: string;
  readonly period_end: string;
  readonly amount: Money;
  readonly line_item: string;
  readonly model: string | null;
  readonly api_key_hash: string | null;
  readonly endpoint: string | null;
}

export interface CostsTotal {
  readonly period_start: string;
  readonly period_end: string;
  readonly amount: Money | null;
}

export interface DeferredRevenue {
  readonly at: string;
  readonly credits: string;
  readonly receivable: string;
  readonly accounts: number;
}

export interface Estimate {
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens_max: number;
  readonly max_amount: string;
  readonly lines: Readonly<Record<string, string>>;
  readonly expected_amount: string | null;
  readonly affordable: boolean;
  readonly currency: 'USD';
}

export interface Finding {
  readonly kind: string;
  readonly id: string;
  readonly account_id: string;
  readonly summary: string;
}

export interface Generation {
  readonly id: string;
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly endpoint: string;
  readonly status: string;
  readonly model: string;
  readonly api_key_hash: string;
  readonly latency_ms: number;
  readonly usage: Usage;
  readonly charged_amount: string;
  readonly currency: 'USD';
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly usage_source: string;
  readonly cost_details: Readonly<Record<string, string>>;
  readonly price_version: string;
  readonly unit_prices: Readonly<Record<string, string>> | null;
  readonly finish_reason: string | null;
  readonly streamed: boolean;
  readonly first_token_ms: number | null;
  readonly ignored_parameters: readonly (string)[];
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly invited_by: string;
  readonly created_at: string;
  readonly ends_at: string;
}

export interface Invoice {
  readonly id: string;
  readonly status: 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';
  readonly period_start: string;
  readonly period_end: string;
  readonly currency: 'USD';
  readonly opening_balance: string;
  readonly credit_purchase_total: string;
  readonly usage_charge_total: string;
  readonly refund_total: string;
  readonly adjustment_total: string;
  readonly closing_balance: string;
}

export interface LedgerCheck {
  readonly kind: string;
  readonly at: string;
  readonly age_seconds: number;
  readonly accounts: number;
  readonly violations: number;
  readonly duration_ms: number;
}

export interface LedgerEntry {
  readonly id: string;
  readonly type: string;
  readonly amount: Money;
  readonly balance_after: Money;
  readonly status: string;
  readonly created_at: string;
  readonly description: string;
  readonly reason_code: string;
  readonly contra: string;
  readonly related_generation_id: string | null;
  readonly related_checkout_session_id: string | null;
  readonly invoice_id: string;
  readonly account_id: string;
  readonly seq: number;
  readonly actor: string | null;
  readonly request_id: string | null;
  readonly payment_id: string | null;
}

export interface LedgerProof {
  readonly ok: boolean;
  readonly checked: number;
  readonly violations: readonly ({
    readonly claim: string;
    readonly object: string;
    readonly detail: string;
  })[];
  readonly duration_ms: number;
}

export interface Margin {
  readonly month: string;
  readonly period_start: string;
  readonly model: string | null;
  readonly endpoint: string | null;
  readonly provider: string | null;
  readonly account_id: string | null;
  readonly calls: number;
  readonly failed_calls: number;
  readonly calls_without_cost: number;
  readonly charged_without_cost: string;
  readonly charged: string;
  readonly refunded: string;
  readonly refunded_without_cost: string;
  readonly provider_cost: string;
  readonly margin: string;
}

export interface MediaOptions {
  readonly sizes: readonly (string)[] | null;
  readonly sides: {
    readonly min: number;
    readonly max: number;
  } | null;
  readonly default_size: string | null;
  readonly steps: {
    readonly min: number;
    readonly max: number;
    readonly default: number | null;
  } | null;
  readonly seconds: readonly (number)[] | null;
  readonly price: {
    readonly request: string;
    readonly second: string;
  };
  readonly price_by_size: Readonly<Record<string, {
    readonly request: string;
    readonly second: string;
  }>>;
}

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly key_hash: string;
  readonly disabled: boolean;
  readonly created_at: string;
  readonly signed_in_at: string;
  readonly you: boolean;
}

export interface Model {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  readonly aliases: readonly (string)[];
  readonly name: string;
  readonly description: string;
  readonly context_length: number;
  readonly architecture: {
    readonly modality: string;
    readonly input_modalities: readonly (string)[];
    readonly output_modalities: readonly (string)[];
    readonly tokenizer: string;
    readonly instruct_type: string | null;
  };
  readonly top_provider: {
    readonly context_length: number;
    readonly max_completion_tokens: number | null;
    readonly is_moderated: boolean;
  };
  readonly pricing: {
    readonly prompt: string;
    readonly completion: string;
    readonly request: string;
    readonly image: string;
    readonly web_search: string;
    readonly internal_reasoning: string;
    readonly input_cache_read: string;
    readonly input_cache_write: string;
  };
  readonly media: MediaOptions | null;
  readonly supported_parameters: readonly (string)[];
  readonly canonical_slug: string;
  readonly per_request_limits: Readonly<Record<string, number>> | null;
  readonly default_parameters: Readonly<Record<string, unknown>> | null;
  readonly supported_voices: readonly (string)[] | null;
  readonly links: {
    readonly details: string;
  };
  readonly endpoints: readonly (string)[];
  readonly categories: readonly (string)[];
}

export interface Money {
  readonly value: string;
  readonly currency: 'USD';
}

export interface OperatorBrowser {
  readonly id: string;
  readonly operator: string;
  readonly created_at: string;
  readonly ends_at: string;
  readonly user_agent: string;
  readonly address: string;
  readonly current: boolean;
}

export interface OperatorDelivery {
  readonly id: string;
  readonly account_id: string;
  readonly task_id: string | null;
  readonly event_type: string;
  readonly url: string;
  readonly state: string;
  readonly tries: number;
  readonly last_http_status: number | null;
  readonly last_error: string | null;
  readonly next_try_at: string | null;
  readonly created_at: string;
  readonly delivered_at: string | null;
}

export interface OperatorSession {
  readonly operator: string;
  readonly csrf: string | null;
  readonly ends_at: string | null;
  readonly links: {
    readonly board: string;
    readonly grafana: string | null;
  };
}

export interface OperatorTask {
  readonly id: string;
  readonly account_id: string;
  readonly api_key_hash: string;
  readonly request_id: string | null;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: string;
  readonly pool: string;
  readonly state: string;
  readonly seed: string;
  readonly progress_percent: number;
  readonly attempts: number;
  readonly generation_runs: number;
  readonly failures: number;
  readonly interruptions: number;
  readonly dispatches: number;
  readonly worker: string | null;
  readonly engine: string | null;
  readonly engine_reference: string | null;
  readonly price: string;
  readonly held: string;
  readonly charged: string;
  readonly provider_cost: string | null;
  readonly currency: 'USD';
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly retryable: boolean;
  readonly queue_wait_ms: number | null;
  readonly run_ms: number | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly deadline_at: string;
  readonly not_before: string;
  readonly dispatched_at: string | null;
  readonly lease_until: string | null;
  readonly cancel_requested_at: string | null;
}

export interface OperatorTaskDetails {
  readonly id: string;
  readonly account_id: string;
  readonly api_key_hash: string;
  readonly request_id: string | null;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: string;
  readonly pool: string;
  readonly state: string;
  readonly seed: string;
  readonly progress_percent: number;
  readonly attempts: number;
  readonly generation_runs: number;
  readonly failures: number;
  readonly interruptions: number;
  readonly dispatches: number;
  readonly worker: string | null;
  readonly engine: string | null;
  readonly engine_reference: string | null;
  readonly price: string;
  readonly held: string;
  readonly charged: string;
  readonly provider_cost: string | null;
  readonly currency: 'USD';
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly retryable: boolean;
  readonly queue_wait_ms: number | null;
  readonly run_ms: number | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly deadline_at: string;
  readonly not_before: string;
  readonly dispatched_at: string | null;
  readonly lease_until: string | null;
  readonly cancel_requested_at: string | null;
  readonly runs: readonly ({
    readonly engine: string;
    readonly model: string;
    readonly outcome: string;
    readonly latency_ms: number;
    readonly cost: string | null;
    readonly said: string | null;
  })[];
  readonly history: readonly ({
    readonly at: string;
    readonly state: string;
    readonly attempt: number;
    readonly detail: string | null;
    readonly said: string | null;
    readonly cost: string | null;
  })[];
  readonly retry_of: string | null;
  readonly retried_as: string | null;
}

export interface Pool {
  readonly queue: string;
  readonly waiting: number;
  readonly running: number;
  readonly oldest_wait_seconds: number;
  readonly slots: number;
  readonly estimated_wait_seconds: number | null;
}

export interface PricePeriod {
  readonly model: string;
  readonly price_version: string | null;
  readonly prices: Readonly<Record<string, string>> | null;
  readonly starts_at: string;
  readonly ends_at: string | null;
  readonly changed_by: string;
}

export interface ProviderHealth {
  readonly provider: string;
  readonly model: string;
  readonly attempts: number;
  readonly failed: number;
  readonly attempts_5m: number;
  readonly failed_5m: number;
  readonly latency_ms: {
    readonly p50: number | null;
    readonly p95: number | null;
  };
  readonly failures: Readonly<Record<string, number>>;
  readonly circuit: {
    readonly replicas: number;
    readonly resting: readonly (string)[];
    readonly cooling: readonly (string)[];
  } | null;
  readonly last_failed_at: string | null;
  readonly last_said: string | null;
}

export interface Queue {
  readonly name: string;
  readonly paused: boolean;
  readonly resting_ms: number;
  readonly backlog: number;
  readonly oldest_seconds: number | null;
  readonly workers: number;
  readonly slots: number;
  readonly jobs: {
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
    readonly completed: number;
    readonly failed: number;
  };
}

export interface Session {
  readonly id: string;
  readonly account: {
    readonly id: string;
    readonly name: string;
  };
  readonly key: {
    readonly hash: string;
    readonly name: string;
    readonly role: string;
  };
  readonly member: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly role: string;
    readonly accounts: readonly ({
      readonly id: string;
      readonly name: string;
      readonly role: string;
    })[];
  } | null;
  readonly csrf: string;
  readonly created_at: string;
  readonly ends_at: string;
}

export interface SessionSummary {
  readonly id: string;
  readonly key: {
    readonly hash: string;
    readonly name: string;
  };
  readonly created_at: string;
  readonly seen_at: string;
  readonly ends_at: string;
  readonly user_agent: string;
  readonly address: string;
  readonly current: boolean;
}

export interface SpeedRow {
  readonly period_start: string;
  readonly period_end: string;
  readonly model: string;
  readonly request_count: number;
  readonly failed_count: number;
  readonly first_token_ms: {
    readonly p50: number;
    readonly p95: number;
  } | null;
  readonly latency_ms: {
    readonly p50: number;
    readonly p95: number;
  } | null;
  readonly tokens_per_second: number | null;
}

export interface Task {
  readonly id: string;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: string;
  readonly status: string;
  readonly progress_percent: number;
  readonly queue_position: number | null;
  readonly seed: string;
  readonly attempts: number;
  readonly cancel_requested: boolean;
  readonly estimated_amount: string;
  readonly charged_amount: string;
  readonly currency: 'USD';
  readonly api_key_hash: string;
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly parameters: {
    readonly width: number | null;
    readonly height: number | null;
    readonly steps: number | null;
    readonly seconds: number | null;
  };
  readonly outputs: readonly ({
    readonly index: number;
    readonly variant: string;
    readonly media_type: string;
    readonly bytes: number;
    readonly width: number;
    readonly height: number;
    readonly duration_ms: number | null;
    readonly sha256: string;
  })[];
  readonly content_url: string | null;
  readonly thumbnail_url: string | null;
  readonly poster_url: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly deadline_at: string;
  readonly expires_at: string | null;
}

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
}

export interface UsageRow {
  readonly period_start: string;
  readonly period_end: string;
  readonly request_count: number;
  readonly model: string;
  readonly api_key_hash: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
}

export interface WebhookSecret {
  readonly secret: string;
  readonly previous_secret_expires_at: string | null;
}

export interface Worker {
  readonly host: string;
  readonly worker: string | null;
  readonly version: string | null;
  readonly queues: readonly (string)[];
  readonly away: readonly (string)[];
  readonly misconfigured: readonly (string)[];
  readonly running: number;
  readonly draining: string | null;
  readonly drained_by: string | null;
  readonly drained_at: string | null;
  readonly started_at: string | null;
  readonly seen_at: string | null;
}

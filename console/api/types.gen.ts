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
  readonly total_credits: string;
  readonly total_usage: string;
  readonly remaining_credits: string;
  readonly held: string;
  readonly debt: string;
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

export interface WebhookDelivery {
  readonly id: string;
  readonly task_id: string | null;
  readonly event_type: string;
  readonly url: string;
  readonly status: string;
  readonly created_at: string;
  readonly delivered_at: string | null;
  readonly next_try_at: string | null;
  readonly tries: readonly ({
    readonly try: number;
    readonly at: string;
    readonly http_status: number | null;
    readonly error: string | null;
    readonly duration_ms: number;
  })[];
}

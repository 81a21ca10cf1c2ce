/** What is learnt of a request while it is served, for its one line in the log: ids as the API tells them, nothing of its content. */
export interface RequestFacts {
  /** Public id of the account. */
  accountId?: string;
  /** Public name of the key that calls. */
  apiKeyHash?: string;
  /** Public id of the generation (for a task also its id) that a paid call makes. */
  generationId?: string;
  /** Code of the error that was answered, or that ended a stream. */
  code?: string;
  /** Of the trace, where the request is traced. */
  traceId?: string;
  /** As it was asked for, and once the call is charged as it was served. */
  model?: string;
  /** Who answered; absent when nobody did. */
  provider?: string;
  inputTokens?: number;
  outputTokens?: number;
  /** Decimal USD, as committed. Absent when the response ended before the charge was: a client that left. */
  charge?: string;
}

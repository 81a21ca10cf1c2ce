/** What is learned about a request while it is served, for its one log line: ids as the API shows them, none of its content. */
export interface RequestFacts {
  /** Public id of the account. */
  accountId?: string;
  /** Public name of the calling key. */
  apiKeyHash?: string;
  /** Public id of the generation that a paid call creates; for a task it is also the task's id. */
  generationId?: string;
  /** Code of the error that was returned or that ended a stream. */
  code?: string;
  /** Trace id, when the request is traced. */
  traceId?: string;
  /** The requested model; once the call is charged, the model that served it. */
  model?: string;
  /** The provider that answered; absent when none did. */
  provider?: string;
  inputTokens?: number;
  outputTokens?: number;
  /** Decimal USD, as committed. Absent when the response ended before the charge was committed, e.g. because the client left. */
  charge?: string;
}

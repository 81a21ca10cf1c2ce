const REFUSALS_THAT_PASS = new Set([408, 429]);

/** A failed call of the API by a worker. The message contains no secret. */
export class WorkerApiError extends Error {
  override readonly name = 'WorkerApiError';
  /** HTTP status of the response; undefined when there was none. */
  readonly status: number | undefined;

  constructor(status: number | undefined, reason: string, options?: { cause?: unknown }) {
    super(
      status === undefined
        ? `the API cannot be reached (${reason})`
        : `the API responded with ${status}: ${reason}`,
      options,
    );
    this.status = status;
  }

  /** Whether the same call may succeed later. */
  get mayPass(): boolean {
    return this.status === undefined || this.status >= 500 || REFUSALS_THAT_PASS.has(this.status);
  }
}

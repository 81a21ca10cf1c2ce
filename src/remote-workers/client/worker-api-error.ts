const REFUSALS_THAT_PASS = new Set([408, 429]);

/** The API did not do what a worker asked for. The message holds no secret. */
export class WorkerApiError extends Error {
  override readonly name = 'WorkerApiError';
  /** HTTP status of its answer; undefined: there was none. */
  readonly status: number | undefined;

  constructor(status: number | undefined, reason: string, options?: { cause?: unknown }) {
    super(
      status === undefined
        ? `the API cannot be reached (${reason})`
        : `the API answered ${status}: ${reason}`,
      options,
    );
    this.status = status;
  }

  /** Whether the same call may succeed later. */
  get mayPass(): boolean {
    return this.status === undefined || this.status >= 500 || REFUSALS_THAT_PASS.has(this.status);
  }
}

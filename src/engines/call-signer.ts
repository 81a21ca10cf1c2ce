/** A call to the engine's own origin, just before it is sent. */
export interface OutgoingCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The request body, empty when there is none. Also empty for a form, whose bytes are produced only while it is sent. */
  readonly body: string;
}

/** Produces the headers that authenticate us to an upstream, afresh for each call. */
export interface CallSigner {
  /** Returns the headers to add. Throws EngineError when they cannot be obtained, or the signal's reason. */
  sign(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Readonly<Record<string, string>>>;
  /** Returns whether a call with these headers that got a 401 should be signed and sent again. When absent, it never should. */
  renews?(headers: Readonly<Record<string, string>>): boolean;
  /** Closes connections. */
  close?(): Promise<void>;
}

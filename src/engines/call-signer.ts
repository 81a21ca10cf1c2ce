/** A call to the engine's own origin as it is about to leave. */
export interface OutgoingCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent, empty for none. A form is none: its bytes are made when it leaves. */
  readonly body: string;
}

/** Makes the headers that an upstream knows its callers by, anew for each call. */
export interface CallSigner {
  /** Headers to add. Throws EngineError where they cannot be had, or the signal's reason. */
  sign(call: OutgoingCall, signal: AbortSignal | undefined): Promise<Readonly<Record<string, string>>>;
  /** A call with these headers was answered by 401: whether it should be signed and sent again. Absent: it never should. */
  renews?(headers: Readonly<Record<string, string>>): boolean;
  /** Frees connections. */
  close?(): Promise<void>;
}

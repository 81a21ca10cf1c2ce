/** Attributes of a span: names, ids, counts. Never customer input or output. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** `server` and `consumer` handle requests and messages from outside, `client` makes requests to others. */
  readonly kind?: 'server' | 'consumer' | 'client' | 'internal';
  /** W3C `traceparent` of the parent span; the active span by default. */
  readonly parent?: string | undefined;
  readonly facts?: SpanFacts;
}

export interface Span {
  add(facts: SpanFacts): void;
}

/** Traces work through this process and across processes. */
export interface Tracing {
  readonly enabled: boolean;
  /** Runs the work inside a span, which ends with it. An error is recorded by its code or name and rethrown. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Returns the W3C `traceparent` of the active span; undefined when there is none. */
  current(): string | undefined;
  /** Sends the buffered spans, within a few seconds. Never rejects. */
  close(): Promise<void>;
}

const NO_SPAN: Span = { add: () => undefined };

/** Disabled tracing: just runs the work. */
export const NO_TRACING: Tracing = {
  enabled: false,
  span: (_name, _options, work) => work(NO_SPAN),
  current: () => undefined,
  close: async () => undefined,
};

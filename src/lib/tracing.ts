/** What a span says. Names, ids, counts; never anything a customer wrote or got. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** `server` and `consumer` begin work for somebody else, `client` asks somebody else. */
  readonly kind?: 'server' | 'consumer' | 'client' | 'internal';
  /** W3C `traceparent` of the span this one belongs to; by default the one that is running. */
  readonly parent?: string | undefined;
  readonly facts?: SpanFacts;
}

export interface Span {
  add(facts: SpanFacts): void;
}

/** Follows work through the process and beyond. */
export interface Tracing {
  readonly enabled: boolean;
  /** Does the work inside a span, which ends with it. An error is noted by its code or name and thrown on. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** W3C `traceparent` of the span that is running; undefined when there is none. */
  current(): string | undefined;
  /** Sends what is waiting, within some seconds. Never rejects. */
  close(): Promise<void>;
}

const NO_SPAN: Span = { add: () => undefined };

/** Tracing that is switched off: the work itself and nothing else. */
export const NO_TRACING: Tracing = {
  enabled: false,
  span: (_name, _options, work) => work(NO_SPAN),
  current: () => undefined,
  close: async () => undefined,
};

/** Messages from the primary process to an API process. */
export type Order =
  | { readonly type: 'leave' }
  | { readonly type: 'reload' }
  /** Asks for its metrics. */
  | { readonly type: 'metrics'; readonly question: number }
  /** Answers `all-metrics`. */
  | { readonly type: 'all-metrics'; readonly question: number; readonly texts: readonly string[] };

/** Messages from an API process to the primary process. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly address: string }
  /** Answers `metrics`. */
  | { readonly type: 'metrics'; readonly question: number; readonly text: string }
  /** Asks for the metrics of all processes. */
  | { readonly type: 'all-metrics'; readonly question: number };

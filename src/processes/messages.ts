/** What the process that keeps the others says to one of them. */
export type Order =
  | { readonly type: 'leave' }
  | { readonly type: 'reload' }
  /** Asks for its metrics. */
  | { readonly type: 'metrics'; readonly question: number }
  /** Answers `all-metrics`. */
  | { readonly type: 'all-metrics'; readonly question: number; readonly texts: readonly string[] };

/** What one of them says to it. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly address: string }
  /** Answers `metrics`. */
  | { readonly type: 'metrics'; readonly question: number; readonly text: string }
  /** Asks for the metrics of all. */
  | { readonly type: 'all-metrics'; readonly question: number };

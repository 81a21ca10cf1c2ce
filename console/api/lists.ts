import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, getNext, type Query } from './client.ts';
import { type FirstPage, useFirstPage } from './queries.ts';

export interface Listing<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly error: ApiError | undefined;
  readonly isStale: boolean;
  /** Undefined: there is nothing older. */
  readonly older: (() => void) | undefined;
  readonly isLoadingOlder: boolean;
  refetch(): void;
}

const ROWS = 50;

/** A list by pages, newest first: one request for what is seen first, one for each further page that is asked for. */
export function useList<Row>(path: string, query: Query, options: { everyMs?: number } = {}): Listing<Row> {
  const reading = useFirstPage<Row>(path, { limit: ROWS, ...query }, options);
  const [older, setOlder] = useState<FirstPage<Row>>({ rows: [], next: undefined });
  const [isLoadingOlder, setLoading] = useState(false);
  const [error, setError] = useState<ApiError>();
  const identity = JSON.stringify([path, query]);
  const latest = useRef(identity);
  latest.current = identity;
  useEffect(() => {
    setOlder({ rows: [], next: undefined });
    setError(undefined);
  }, [identity]);
  const next = older.rows.length > 0 ? older.next : reading.data?.next;
  const load = async () => {
    setLoading(true);
    try {
      const page = await getNext<readonly Row[]>(next ?? '');
      if (latest.current === identity) {
        setOlder((before) => ({ rows: [...before.rows, ...page.data], next: page.next }));
      }
    } catch (failure) {
      setError(failure as ApiError);
    } finally {
      setLoading(false);
    }
  };
  return {
    rows: reading.data && [...reading.data.rows, ...older.rows],
    error: error ?? reading.error,
    isStale: reading.isStale,
    older: next === undefined ? undefined : () => void load(),
    isLoadingOlder,
    refetch: reading.refetch,
  };
}

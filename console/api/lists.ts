import { useEffect, useRef, useState } from 'preact/hooks';
import { newRows, type Row, renewed } from '../lib/renewed-rows.ts';
import { type ApiError, getNext, type Query } from './client.ts';
import { type ListPage, pageOf, useFirstPage } from './queries.ts';

export interface Listing<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly error: ApiError | undefined;
  readonly isStale: boolean;
  /** Loads older rows; undefined when there are none. */
  readonly older: (() => void) | undefined;
  readonly isLoadingOlder: boolean;
  /** How far back rows were searched, if filters left only a few; RFC 3339. */
  readonly searchedUntil: string | undefined;
  /** How many new rows are held back, so that nothing moves while someone is reading further down. */
  readonly waiting: number;
  showWaiting(): void;
  refetch(): void;
}

interface Shown<R> extends ListPage<R> {
  readonly identity: string;
  /** The newest page as last read. */
  readonly newest: readonly R[];
}

const ROWS = 50;
/** Scroll offset in px beyond which the top of the list is out of sight. */
const READING_PX = 80;

/** A paginated list, newest first: one request for the first page, and one for each further page on demand. */
export function useList<R extends Row>(
  path: string,
  query: Query,
  options: { everyMs?: number } = {},
): Listing<R> {
  const reading = useFirstPage<R>(path, { limit: ROWS, ...query }, options);
  const identity = JSON.stringify([path, query]);
  const latest = useRef(identity);
  latest.current = identity;
  const [shown, setShown] = useState<Shown<R>>();
  const [isLoadingOlder, setLoading] = useState(false);
  const [error, setError] = useState<ApiError>();
  const isLive = options.everyMs !== undefined;
  useEffect(() => setError(undefined), [identity]);
  useEffect(() => {
    const { data, isStale } = reading;
    if (data && !isStale) {
      const how = { isLive, isRead: window.scrollY > READING_PX };
      setShown((before) => ({
        ...(before?.identity === identity ? renewed<R, ListPage<R>>(before, data, how) : data),
        ...{ identity, newest: data.rows },
      }));
    }
  }, [reading.data, reading.isStale, identity]);
  const page = shown && (shown.identity === identity || reading.isStale) ? shown : reading.data;
  const load = async () => {
    setLoading(true);
    try {
      const further = pageOf(await getNext<readonly R[]>(page?.next ?? ''));
      if (latest.current === identity) {
        setShown((before) => before && { ...before, ...further, rows: [...before.rows, ...further.rows] });
      }
    } catch (failure) {
      setError(failure as ApiError);
    } finally {
      setLoading(false);
    }
  };
  return {
    rows: page?.rows,
    error: error ?? reading.error,
    isStale: reading.isStale,
    older: page?.next === undefined ? undefined : () => void load(),
    isLoadingOlder,
    searchedUntil: page?.searchedUntil,
    waiting: shown?.identity === identity ? newRows(shown.newest, shown.rows).length : 0,
    showWaiting: () => {
      setShown(reading.data && { ...reading.data, identity, newest: reading.data.rows });
      window.scrollTo(0, 0);
    },
    refetch: reading.refetch,
  };
}

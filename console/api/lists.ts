import { useEffect, useRef, useState } from 'preact/hooks';
import { newRows, type Row, renewed } from '../lib/renewed-rows.ts';
import { type ApiError, getNext, type Query } from './client.ts';
import { type ListPage, pageOf, useFirstPage } from './queries.ts';

export interface Listing<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly error: ApiError | undefined;
  readonly isStale: boolean;
  /** Undefined: there is nothing older. */
  readonly older: (() => void) | undefined;
  readonly isLoadingOlder: boolean;
  /** How far back the rows were looked for, where filters left few; RFC 3339. */
  readonly searchedUntil: string | undefined;
  /** How many came since and wait, so that nothing moves while somebody reads further down. */
  readonly waiting: number;
  showWaiting(): void;
  refetch(): void;
}

interface Shown<R> extends ListPage<R> {
  readonly identity: string;
  /** The newest page as it was read last. */
  readonly newest: readonly R[];
}

const ROWS = 50;
/** From here on the top of the list is out of sight, in px. */
const READING_PX = 80;

/** A list by pages, newest first: one request for what is seen first, one for each further page that is asked for. */
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

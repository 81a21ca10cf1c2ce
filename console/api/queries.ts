import { QueryClient, QueryObserver, type QueryObserverResult } from '@tanstack/query-core';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { SharedValue } from '../lib/shared-value.ts';
import { t } from '../lib/text.ts';
import { type Answer, ApiError, get, getNext, type Query } from './client.ts';

/** Cache of recent reads, one per browser tab. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 300_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
});

/** Prefixes of paths whose changes the service announces. */
export const TOLD = ['/api/v1/tasks', '/api/v1/account', '/api/v1/generations', '/api/v1/billing'];
/** Poll interval for announced paths, in case an announcement was missed. */
const TOLD_MS = 15_000;
const isTold = new SharedValue(false);

/** Sets whether changes are announced as they happen, so that frequent polling is unnecessary. */
export function setTold(told: boolean): void {
  if (isTold.value !== told) {
    isTold.set(told);
  }
}

export interface ReadOptions {
  /** Poll interval in ms while the tab is visible; longer for paths whose changes are announced. */
  readonly everyMs?: number | undefined;
  /** If false, does not read yet. */
  readonly enabled?: boolean;
}

export interface Reading<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  /** Nothing to show yet. */
  readonly isLoading: boolean;
  /** The shown data is being reloaded. */
  readonly isStale: boolean;
  refetch(): void;
}

/** Reads an operation and keeps the data up to date. */
export function useRead<T>(path: string, query: Query = {}, options: ReadOptions = {}): Reading<T> {
  return useObserved<T>(
    ['read', path, query],
    async ({ signal }) => (await get<T>(path, query, signal)).data,
    options,
  );
}

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** Path of the next page. */
  readonly next: string | undefined;
  /** If filters left the page short: how far back was searched, RFC 3339. */
  readonly searchedUntil: string | undefined;
}

/** Converts a response with rows to a page of a list. */
export function pageOf<Row>({ data, next, body }: Answer<readonly Row[]>): ListPage<Row> {
  const until = body.searched_until;
  return { rows: data, next, searchedUntil: typeof until === 'string' ? until : undefined };
}

/** Reads the newest page of a list. */
export function useFirstPage<Row>(path: string, query: Query, options: ReadOptions): Reading<ListPage<Row>> {
  return useObserved<ListPage<Row>>(
    ['page', path, query],
    async ({ signal }) => pageOf(await get<readonly Row[]>(path, query, signal)),
    options,
  );
}

const PAGES_MAX = 20;

/** Reads all pages of a report, whose rows are bounded by its range. Fails if there are more than can be shown. */
export function useReadAll<Row>(
  path: string,
  query: Query,
  options: ReadOptions = {},
): Reading<readonly Row[]> {
  const read = async (): Promise<readonly Row[]> => {
    let page: Answer<readonly Row[]> = await get<readonly Row[]>(path, { ...query, limit: 1_000 });
    const rows = [...page.data];
    for (let pages = 1; page.next !== undefined && pages < PAGES_MAX; pages += 1) {
      page = await getNext<readonly Row[]>(page.next);
      rows.push(...page.data);
    }
    if (page.next !== undefined) {
      // an incomplete report would show a total that is too low
      throw new Error(t('Too many data points for one page. Choose a shorter range or fewer groups.'));
    }
    return rows;
  };
  return useObserved<readonly Row[]>(['all', path, query], read, options);
}

/** Marks cached data of these paths as outdated and reloads what is visible. A hidden tab reloads when it becomes visible. */
export function refresh(...paths: readonly string[]): void {
  void queryClient.invalidateQueries({
    refetchType: document.hidden ? 'none' : 'active',
    predicate: ({ queryKey }) =>
      paths.length === 0 || paths.some((path) => String(queryKey[1]).startsWith(path)),
  });
}

/**
 * Runs an action at once, or in a hidden tab as soon as it is visible: ranges that end now change each hour, and a hidden
 * tab requests nothing. Returns a function that cancels what waits.
 */
function whenVisible(act: () => void): (() => void) | undefined {
  if (!document.hidden) {
    act();
    return undefined;
  }
  document.addEventListener('visibilitychange', act, { once: true });
  return () => document.removeEventListener('visibilitychange', act);
}

function useObserved<T>(
  queryKey: readonly unknown[],
  queryFn: (context: { signal: AbortSignal }) => Promise<T>,
  { everyMs, enabled = true }: ReadOptions,
): Reading<T> {
  const told = isTold.use() && TOLD.some((path) => String(queryKey[1]).startsWith(path));
  const intervalMs = everyMs !== undefined && told ? Math.max(everyMs, TOLD_MS) : everyMs;
  const settings = {
    queryKey,
    queryFn,
    enabled,
    refetchInterval: intervalMs ?? (false as const),
    // a hidden tab does not poll
    refetchIntervalInBackground: false,
    placeholderData: (previous: T | undefined) => previous,
  };
  const observer = useMemo(() => new QueryObserver<T, ApiError>(queryClient, settings as never), []);
  const [result, setResult] = useState<QueryObserverResult<T, ApiError>>(() => observer.getCurrentResult());
  useEffect(() => observer.subscribe(setResult), [observer]);
  const identity = JSON.stringify([queryKey, intervalMs, enabled]);
  useEffect(
    () =>
      whenVisible(() => {
        observer.setOptions(settings as never);
        setResult(observer.getCurrentResult());
      }),
    [identity],
  );
  return {
    data: result.data,
    error: result.error ?? undefined,
    isLoading: result.isPending && enabled,
    isStale: result.isPlaceholderData,
    refetch: () => void observer.refetch(),
  };
}

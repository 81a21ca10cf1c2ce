import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';
import { errorText, waitOf } from '../api/errors.ts';
import type { Reading } from '../api/queries.ts';
import { t } from '../lib/text.ts';
import { Copy } from './copy.tsx';

/** Gray lines of about the size of the expected content, shown after a moment, so that fast responses show none. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={isShown ? 'skeleton' : 'skeleton skeleton-early'} role="status" aria-label={t('Loading')}>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="skeleton-line" />
      ))}
    </div>
  );
}

export interface ProblemProps {
  readonly error: unknown;
  readonly retry?: () => void;
  /** What is missing, or where to get it. */
  readonly children?: ComponentChildren;
  /** Texts by error code, where what was tried gives a code another meaning than it has for a call. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** What failed, why, and what to do. Never larger than its own panel. */
export function Problem({ error, retry, children, texts }: ProblemProps) {
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  const wait = useCountdown(error);
  const own = error instanceof ApiError ? texts?.[error.code] : undefined;
  return (
    <div class="notice notice-bad" role="alert">
      <p>{own ?? errorText(error)}</p>
      {wait !== undefined && retry === undefined ? (
        // Screen readers announce it once, not every second.
        <p aria-live="off">
          {wait > 0 ? t('Try again in {seconds} s.', { seconds: wait }) : t('You can try again now.')}
        </p>
      ) : null}
      {children}
      {requestId === undefined ? null : (
        <p class="small">
          <span class="mono">{requestId}</span> <Copy text={requestId} label={t('Copy the request ID')} />
        </p>
      )}
      {retry === undefined ? null : (
        <button type="button" class="button" aria-live="off" disabled={(wait ?? 0) > 0} onClick={retry}>
          {wait !== undefined && wait > 0 ? t('Try again in {seconds} s', { seconds: wait }) : t('Try again')}
        </button>
      )}
    </div>
  );
}

const SECOND_MS = 1_000;

/** Returns the seconds until the service wants to be asked again, counting down to 0; undefined if it did not say. */
function useCountdown(error: unknown): number | undefined {
  const seconds = waitOf(error);
  const [now, tick] = useState(Date.now);
  const [until, setUntil] = useState(0);
  useEffect(() => {
    if (seconds === undefined) {
      return undefined;
    }
    const end = Date.now() + seconds * SECOND_MS;
    setUntil(end);
    tick(Date.now());
    const timer = setInterval(() => {
      tick(Date.now());
      if (Date.now() >= end) {
        clearInterval(timer);
      }
    }, SECOND_MS / 4);
    return () => clearInterval(timer);
  }, [error, seconds]);
  if (seconds === undefined) {
    return undefined;
  }
  return until === 0 ? seconds : Math.max(0, Math.ceil((until - now) / SECOND_MS));
}

export interface NoticeProps {
  readonly tone: 'good' | 'wait' | 'bad' | 'info';
  readonly children: ComponentChildren;
}

export function Notice({ tone, children }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role="status">
      {children}
    </div>
  );
}

/** Empty state: one sentence, one action. */
export function Empty({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{text}</p>
      {children}
    </div>
  );
}

export interface LoadedProps<T> {
  readonly reading: Reading<T>;
  readonly lines?: number;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows loaded data, a loading state, or an error. Old data stays visible while new data loads. */
export function Loaded<T>({ reading, lines = 4, children }: LoadedProps<T>) {
  if (reading.data !== undefined) {
    return <div class={reading.isStale ? 'stale' : undefined}>{children(reading.data)}</div>;
  }
  return reading.error ? (
    <Problem error={reading.error} retry={reading.refetch} />
  ) : (
    <Skeleton lines={lines} />
  );
}

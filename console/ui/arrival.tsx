import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { t } from '../lib/text.ts';

/** Announces a page change: sets the title, and moves the focus for users who cannot see the page change. */
export function Arrival({ titleOf }: { readonly titleOf: (path: string) => string }) {
  const { path } = useLocation();
  useEffect(() => {
    document.title = `${t(titleOf(path))} · Tollgate`;
    const timer = setTimeout(() => {
      if (document.activeElement === document.body || document.activeElement?.closest('nav')) {
        document.querySelector<HTMLElement>('h1')?.focus();
      }
    }, 50);
    return () => clearTimeout(timer);
  }, [path]);
  return null;
}

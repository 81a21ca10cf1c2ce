import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { t } from '../lib/text.ts';

/** Says where one is: by the title, and by the focus for whoever does not see the page change. */
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

import { useRead } from './queries.ts';
import type { Generation } from './types.gen.ts';

const LOOK_MS = 2_000;

/** Returns the newest call of the account; undefined until there is one. */
export function useFirstCall(): Generation | undefined {
  const known = useRead<readonly Generation[]>('/api/v1/generations', { limit: 1 }, { everyMs: LOOK_MS });
  const [newest] = known.data ?? [];
  return newest;
}

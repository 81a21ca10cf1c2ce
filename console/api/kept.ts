import { useEffect, useState } from 'preact/hooks';
import { queryClient } from './queries.ts';

const KEPT = 'kept';
queryClient.setQueryDefaults([KEPT], { gcTime: Number.POSITIVE_INFINITY });

type Change<Value> = (by: (value: Value) => Value) => void;

/** State that outlives its page: it stays in this tab, in memory, until someone signs out. May also be changed once the page is left. */
export function useKept<Value>(name: string, initial: Value): [Value, Change<Value>] {
  const key = [KEPT, name];
  const read = () => queryClient.getQueryData<Value>(key) ?? initial;
  const [, redraw] = useState({});
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe(({ query: { queryKey } }) => {
        if (queryKey[0] === KEPT && queryKey[1] === name) {
          redraw({});
        }
      }),
    [name],
  );
  return [read(), (by) => queryClient.setQueryData<Value>(key, by(read()))];
}

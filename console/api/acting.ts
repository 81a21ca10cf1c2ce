import { useState } from 'preact/hooks';

export interface Acting<Values extends readonly unknown[]> {
  readonly isPending: boolean;
  readonly error: unknown;
  run(...values: Values): Promise<boolean>;
}

/** Something a button does: pending while it runs, its error kept until the next try. `run` resolves to whether it worked. */
export function useActing<Values extends readonly unknown[]>(
  act: (...values: Values) => Promise<void>,
): Acting<Values> {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (...values: Values): Promise<boolean> => {
    setPending(true);
    setError(undefined);
    try {
      await act(...values);
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      setPending(false);
    }
  };
  return { isPending, error, run };
}

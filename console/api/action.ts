import { useState } from 'preact/hooks';

export interface Acting<Values extends readonly unknown[]> {
  readonly isPending: boolean;
  readonly error: unknown;
  run(...values: Values): Promise<boolean>;
}

/**
 * The state of a button's action: pending while it runs, its error kept until the next try. `run` resolves with whether it
 * succeeded.
 */
export function useAction<Values extends readonly unknown[]>(
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

/**
 * The answer, or what `late` returns or throws when it takes longer than `milliseconds`; what the answer stands for goes on. After a
 * turn of the event loop as long as that, timers run before sockets are read: an answer that has arrived is read before it is given up.
 */
export function withDeadline<T, L>(answer: Promise<T>, milliseconds: number, late: () => L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const expire = (): void => {
      try {
        resolve(late());
      } catch (error) {
        reject(error as Error);
      }
    };
    const timer = setTimeout(() => setImmediate(expire), milliseconds);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: Error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** The answer, or undefined when it fails or takes longer than `milliseconds`. */
export function inTimeOrUndefined<T>(answer: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return withDeadline(answer, milliseconds, () => undefined).catch(() => undefined);
}

/**
 * Settles like `answer`, or with what `late` returns or throws if that takes longer than `milliseconds`. The work behind `answer` is not
 * stopped. After a turn of the event loop longer than the deadline, timers run before sockets are read, so the expiry waits for one more
 * phase: an answer that has already arrived still counts.
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

/** Resolves to the answer, or to undefined when it fails or takes longer than `milliseconds`. */
export function inTimeOrUndefined<T>(answer: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return withDeadline(answer, milliseconds, () => undefined).catch(() => undefined);
}

/**
 * Waits for concurrent work. Settles only when all of it has, so the folder it writes to is not removed too early. Throws the first error,
 * in the order of `work`.
 */
export async function runAllToEnd<Results extends readonly unknown[]>(
  work: {
    readonly [Index in keyof Results]: Promise<Results[Index]>;
  },
): Promise<Results> {
  const settled = await Promise.allSettled(work as readonly Promise<unknown>[]);
  const failed = settled.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    throw failed.reason;
  }
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}

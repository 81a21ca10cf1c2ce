/**
 * Runs pieces of work side by side. Settles when all have, so that the folder they write into is not removed too early. Throws the
 * error of the first in order that failed.
 */
export async function settleAll<Results extends readonly unknown[]>(
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

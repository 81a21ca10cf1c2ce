import { QueueUnavailableError } from './producer.ts';

/** The answer, or a QueueUnavailableError when Redis fails or takes longer than `milliseconds`. */
export async function withinTime<T>(answer: () => Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new QueueUnavailableError('redis does not answer')), milliseconds);
  });
  try {
    return await Promise.race([answer(), late]);
  } catch (error) {
    throw error instanceof QueueUnavailableError
      ? error
      : new QueueUnavailableError(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
}

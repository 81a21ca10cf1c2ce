import { withDeadline } from '../src/lib/deadline.ts';
import { QueueUnavailableError } from './producer.ts';

/** Returns the answer, or throws QueueUnavailableError when Redis fails or takes longer than `milliseconds`. */
export async function withinTime<T>(answer: () => Promise<T>, milliseconds: number): Promise<T> {
  try {
    return await withDeadline(answer(), milliseconds, () => {
      throw new QueueUnavailableError('Redis did not answer in time');
    });
  } catch (error) {
    throw error instanceof QueueUnavailableError
      ? error
      : new QueueUnavailableError(error instanceof Error ? error.message : String(error));
  }
}

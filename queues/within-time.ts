import { withDeadline } from '../src/lib/deadline.ts';
import { QueueUnavailableError } from './producer.ts';

/** The answer, or a QueueUnavailableError when Redis fails or takes longer than `milliseconds`. */
export async function withinTime<T>(answer: () => Promise<T>, milliseconds: number): Promise<T> {
  try {
    return await withDeadline(answer(), milliseconds, () => {
      throw new QueueUnavailableError('redis does not answer');
    });
  } catch (error) {
    throw error instanceof QueueUnavailableError
      ? error
      : new QueueUnavailableError(error instanceof Error ? error.message : String(error));
  }
}

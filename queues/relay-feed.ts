import type { JobContract } from './define-job.ts';
import type { Producer } from './producer.ts';

/** A row marked as handed to a queue. */
export interface RelayTicket {
  readonly id: string;
  /** How often the row has been handed out. Part of the job's id, so each time is a new job. */
  readonly dispatch: number;
  /** Id of the request that created the row, where known. */
  readonly requestId?: string;
}

/** The source of a feed's rows. Implemented by a store; safe to call from several relays at once. */
export interface RelaySource {
  /**
   * Marks up to `limit` waiting rows as dispatched, in the order they should run: fair across accounts, then by age. Takes a row
   * again when it was dispatched more than `lostAfterMs` ago and still waits: its job must have been lost.
   */
  take(limit: number, lostAfterMs: number): Promise<RelayTicket[]>;
  /** Removes the mark from rows whose jobs could not be sent, unless the rows have moved on. */
  putBack(tickets: readonly RelayTicket[]): Promise<void>;
}

/** A path from rows waiting in the database to one queue. */
export interface RelayFeed extends RelaySource {
  readonly queue: string;
  send(producer: Producer, tickets: readonly RelayTicket[]): Promise<void>;
}

/** Joins a source to the queue and job that it feeds. */
export function defineFeed<Payload>(definition: {
  readonly queue: string;
  readonly contract: JobContract<string, Payload>;
  readonly source: RelaySource;
  readonly toPayload: (ticket: RelayTicket) => Payload;
}): RelayFeed {
  const { queue, contract, source, toPayload } = definition;
  return {
    queue,
    take: (limit, lostAfterMs) => source.take(limit, lostAfterMs),
    putBack: (tickets) => source.putBack(tickets),
    send: (producer, tickets) => producer.addAll(queue, contract, tickets.map(toPayload)),
  };
}

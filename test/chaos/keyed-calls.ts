import { randomUUID } from 'node:crypto';
import { type CallTarget, sendKeyed } from './load-client.ts';
import type { CallOutcome } from './outcome-log.ts';
import { pause } from './pause.ts';

const REPEAT_EVERY_MS = 1_000;

/** Calls, each with its own Idempotency-Key, of a client that repeats them when it was cut off. */
export class KeyedCalls {
  /** Outcomes of each key, the latest last. */
  readonly #told = new Map<string, CallOutcome[]>();

  get count(): number {
    return this.#told.size;
  }

  /** Number of keys that were cut off at first and answered when repeated. */
  get answeredLater(): number {
    return this.#count((told) => told.length > 1 && told.at(-1)?.outcome === 'answered');
  }

  /** Number of keys whose repetition was answered that the call had ended. */
  get refusedLater(): number {
    return this.#count((told) => told.length > 1 && told.at(-1)?.code === 'idempotency_completed');
  }

  /** Number of keys whose outcome the client does not know for certain. */
  get untold(): number {
    return this.#count((told) => isUntold(told.at(-1)));
  }

  /** Number of keys that received a stored answer. */
  get replayed(): number {
    return this.#count((told) => told.at(-1)?.isReplay === true);
  }

  /**
   * Compares each key with the charges in the books, in nano-USD by request id: at most one request of a key is charged, and an answer
   * costs what its usage says, whichever request was charged. Returns a line for each key that is wrong.
   */
  audit(charges: ReadonlyMap<string, bigint>): string[] {
    return [...this.#told.values()].flatMap((told) => {
      const ids = told.map(({ requestId }) => requestId);
      const booked = ids.map((id) => charges.get(id) ?? 0n).filter((charge) => charge > 0n);
      const sum = booked.reduce((total, charge) => total + charge, 0n);
      const last = told.at(-1);
      return [
        ...(booked.length > 1 ? [`charged twice under one Idempotency-Key: ${ids.join(', ')}`] : []),
        ...(last?.outcome === 'answered' && last.charge !== sum
          ? [`told ${last.charge}, charged ${sum} under one Idempotency-Key: ${ids.join(', ')}`]
          : []),
      ];
    });
  }

  /** Sends `calls` calls at once: only streams, or a stream every second time. */
  async place(target: CallTarget, calls: number, isStreamsOnly: boolean): Promise<void> {
    const keyed = Array.from({ length: calls }, (_, number) => ({
      idempotencyKey: randomUUID(),
      streamed: isStreamsOnly || number % 2 === 0,
    }));
    await this.#send(target, keyed);
  }

  /** Repeats calls with the keys that broke until the outcome is certain, for at most `milliseconds`. */
  async repeat(target: CallTarget, milliseconds: number): Promise<void> {
    const deadline = Date.now() + milliseconds;
    while (this.untold > 0 && Date.now() < deadline) {
      const untold = [...this.#told].flatMap(([idempotencyKey, told]) => {
        const last = told.at(-1);
        return last !== undefined && isUntold(last) ? [{ idempotencyKey, streamed: last.streamed }] : [];
      });
      await this.#send(target, untold);
      await pause(REPEAT_EVERY_MS);
    }
  }

  async #send(
    target: CallTarget,
    keyed: readonly { readonly idempotencyKey: string; readonly streamed: boolean }[],
  ): Promise<void> {
    const told = await sendKeyed(target, keyed);
    keyed.forEach(({ idempotencyKey }, place) => {
      const before = this.#told.get(idempotencyKey) ?? [];
      this.#told.set(idempotencyKey, [...before, told[place]!]);
    });
  }

  #count(isWanted: (told: readonly CallOutcome[]) => boolean): number {
    return [...this.#told.values()].filter(isWanted).length;
  }
}

function isUntold(told: CallOutcome | undefined): boolean {
  return told?.outcome === 'broken' || told?.code === 'idempotency_in_progress';
}

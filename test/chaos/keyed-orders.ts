import { randomUUID } from 'node:crypto';
import { parsePublicId } from '../../src/lib/ids.ts';
import { pause } from './pause.ts';
import { type ChaosAccount, IMAGE_MODEL } from './stack.ts';

const TIMEOUT_MS = 30_000;
const REPEAT_EVERY_MS = 1_000;

/** Orders of pictures, each under an Idempotency-Key of its own: a client that asks again until it is told. */
export class KeyedOrders {
  readonly #account: ChaosAccount;
  readonly #webhookUrl: string;
  /** Task id (UUID) by key; undefined: not told yet. */
  readonly #tasks = new Map<string, string | undefined>();

  constructor(account: ChaosAccount, webhookUrl: string) {
    this.#account = account;
    this.#webhookUrl = webhookUrl;
  }

  get count(): number {
    return this.#tasks.size;
  }

  /** Ids of the tasks that the client knows of. */
  get accepted(): string[] {
    return [...this.#tasks.values()].filter((id) => id !== undefined);
  }

  get untold(): number {
    return this.count - this.accepted.length;
  }

  /** Orders so many pictures at once; whether the answers come or not. */
  async place(url: string, pictures: number): Promise<void> {
    const keys = Array.from({ length: pictures }, () => randomUUID());
    await Promise.all(keys.map((key) => this.#send(url, key)));
  }

  /** Asks again under the same keys until every order has its answer, for so long at most. */
  async repeat(url: string, milliseconds: number): Promise<void> {
    const deadline = Date.now() + milliseconds;
    while (this.untold > 0 && Date.now() < deadline) {
      const untold = [...this.#tasks].filter(([, id]) => id === undefined);
      await Promise.all(untold.map(([key]) => this.#send(url, key)));
      await pause(REPEAT_EVERY_MS);
    }
  }

  async #send(url: string, key: string): Promise<void> {
    this.#tasks.set(key, undefined);
    try {
      const response = await fetch(`${url}/v3/async/${IMAGE_MODEL}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#account.key}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({
          prompt: 'a lighthouse',
          size: '256*256',
          extra: { webhook: { url: this.#webhookUrl } },
        }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const { task_id: id } = (await response.json()) as { task_id?: string };
      if (response.status === 200 && id !== undefined) {
        this.#tasks.set(key, parsePublicId('generation', id));
      }
    } catch {
      // not told: it is asked again under the same key
    }
  }
}

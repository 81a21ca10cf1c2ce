import { randomUUID } from 'node:crypto';
import { parsePublicId } from '../../src/lib/ids.ts';
import { pause } from './pause.ts';
import { type ChaosAccount, IMAGE_MODEL } from './stack.ts';

const TIMEOUT_MS = 30_000;
const REPEAT_EVERY_MS = 1_000;

/** Orders of images, each with its own Idempotency-Key, of a client that repeats them until they are answered. */
export class KeyedOrders {
  readonly #account: ChaosAccount;
  readonly #webhookUrl: string;
  /** Task id (UUID) by key; undefined until the order is answered. */
  readonly #tasks = new Map<string, string | undefined>();

  constructor(account: ChaosAccount, webhookUrl: string) {
    this.#account = account;
    this.#webhookUrl = webhookUrl;
  }

  get count(): number {
    return this.#tasks.size;
  }

  /** Ids of the tasks that the client knows. */
  get accepted(): string[] {
    return [...this.#tasks.values()].filter((id) => id !== undefined);
  }

  get untold(): number {
    return this.count - this.accepted.length;
  }

  /** Orders `pictures` images at once, whether or not the answers arrive. */
  async place(url: string, pictures: number): Promise<void> {
    const keys = Array.from({ length: pictures }, () => randomUUID());
    await Promise.all(keys.map((key) => this.#send(url, key)));
  }

  /** Repeats orders with the same keys until every order is answered, for at most `milliseconds`. */
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
      // no answer: it is repeated with the same key
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';

const BODY = JSON.stringify({ prompt: 'a quiet harbour at dusk', size: '256*256', seed: 7 });
const ANSWER_CONNECTIONS = 64;

/** Customers of one gateway that take turns ordering small images. */
export class Customers {
  readonly #url: string;
  readonly #pool: Pool;
  readonly #keys: readonly string[];
  #turn = 0;
  #turnedAway = 0;

  constructor(url: string, keys: readonly string[]) {
    this.#url = url;
    this.#pool = new Pool(url, { connections: ANSWER_CONNECTIONS });
    this.#keys = keys;
  }

  /** Number of orders so far, rejected ones included. */
  get placed(): number {
    return this.#turn;
  }

  /** Number of times the gateway was overloaded and asked the customer to come back later. */
  get turnedAway(): number {
    return this.#turnedAway;
  }

  /** Submits one image task, and retries after a while when the gateway is overloaded. Throws when it is not accepted. */
  async submit(): Promise<void> {
    this.#turn += 1;
    const answer = await this.#pool.request({
      method: 'POST',
      path: '/v3/async/image-turbo',
      headers: { ...this.#authorization(this.#turn), 'content-type': 'application/json' },
      body: BODY,
    });
    const text = await answer.body.text();
    if (answer.statusCode === 503) {
      this.#turnedAway += 1;
      await delay(Number(answer.headers['retry-after'] ?? 1) * 1_000);
      return await this.submit();
    }
    if (answer.statusCode !== 200) {
      throw new Error(`a submit was answered ${answer.statusCode}: ${text}`);
    }
  }

  /**
   * Fetches the image of one customer's newest task, as that customer would, and returns its size in bytes. Throws when there is none.
   */
  async fetchNewest(): Promise<number> {
    const headers = this.#authorization(0);
    const list = await this.#pool.request({ method: 'GET', path: '/api/v1/tasks?limit=1', headers });
    const { data } = (await list.body.json()) as { data: { id: string }[] };
    const path = `/v3/async/task-result?task_id=${data[0]?.id}`;
    const result = await this.#pool.request({ method: 'GET', path, headers });
    const { images } = (await result.body.json()) as { images: { image_url: string }[] };
    // the gateway listens on a random port that its public URL does not contain
    const { pathname, search } = new URL(images[0]!.image_url);
    const file = await fetch(new URL(pathname + search, this.#url));
    return (await file.arrayBuffer()).byteLength;
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #authorization(turn: number): { authorization: string } {
    return { authorization: `Bearer ${this.#keys[turn % this.#keys.length]}` };
  }
}

/** Runs `count` operations, `clients` at a time. */
export async function runBatch(
  count: number,
  clients: number,
  operation: (number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < count) {
      next += 1;
      await operation(next);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

import { type Dispatcher, Pool } from 'undici';
import { randomBelow } from './prompts.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export type Body = Readonly<Record<string, unknown>>;

export interface CallOptions {
  /** Key to use; a random customer's by default. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CONNECTIONS = 256;
const TIMEOUT_MS = 60_000;

/** The connections of all customers of a soak, and the results of their calls. */
export class CustomerCalls {
  /** Number of calls by status; 0 for a broken connection, which some calls cause on purpose. */
  readonly statuses = new Map<number, number>();
  made = 0;
  readonly #keys: readonly string[];
  readonly #pool: Pool;

  constructor(url: string, keys: readonly string[]) {
    this.#keys = keys;
    this.#pool = new Pool(url, {
      connections: CONNECTIONS,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
  }

  /** Number of calls that were not rejected for overload. */
  get carried(): number {
    return this.made - (this.statuses.get(503) ?? 0);
  }

  /** Returns the key of a random customer. */
  key(): string {
    return this.#keys[randomBelow(this.#keys.length)] ?? '';
  }

  post(path: string, body: Body, options: CallOptions = {}): Promise<Answer> {
    return this.request('POST', path, body, options);
  }

  get(path: string, key?: string): Promise<Answer> {
    return this.request('GET', path, undefined, key === undefined ? {} : { key });
  }

  async request(
    method: Dispatcher.HttpMethod,
    path: string,
    body: Body | undefined,
    options: CallOptions,
  ): Promise<Answer> {
    const answer = await this.begin(method, path, body, options);
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  /** Sends a request and returns the head of the answer. The caller reads the body or disconnects. */
  async begin(
    method: Dispatcher.HttpMethod,
    path: string,
    body: Body | undefined,
    { key, headers }: CallOptions = {},
  ): Promise<Dispatcher.ResponseData> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${key ?? this.key()}`,
        'content-type': 'application/json',
        'x-forwarded-for': '192.0.2.1',
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    this.count(answer.statusCode);
    return answer;
  }

  count(status: number): void {
    this.made += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

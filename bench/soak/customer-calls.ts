import { type Dispatcher, Pool } from 'undici';
import { randomBelow } from './prompts.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export type Body = Readonly<Record<string, unknown>>;

export interface CallOptions {
  /** Any customer's unless given. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CONNECTIONS = 256;
const TIMEOUT_MS = 60_000;

/** The connections of all customers of a soak, and what their calls came to. */
export class CustomerCalls {
  /** Calls by status; 0: the connection broke, as it does on purpose for some. */
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

  /** Calls that were not turned away for overload. */
  get carried(): number {
    return this.made - (this.statuses.get(503) ?? 0);
  }

  /** The key of any customer. */
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

  /** The head of an answer; the caller reads its body, or leaves. */
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

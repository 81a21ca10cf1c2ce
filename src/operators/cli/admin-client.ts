import { randomUUID } from 'node:crypto';
import { CliError, NoAnswerError } from './cli-error.ts';
import type { CliSettings } from './cli-settings.ts';

export type Query = Readonly<Record<string, string | undefined>>;

export interface AdminPage<Row> {
  readonly rows: readonly Row[];
  /** Path and query of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const TIMEOUT_MS = 30_000;
const NEXT_LINK = /^<([^>]+)>; rel="next"$/;
const PAGE_ROWS = 500;
/** Options by the parameter of the API that they fill, where the two differ: errors name what was typed. */
const OPTIONS: Readonly<Record<string, string>> = {
  start_time: '--from',
  end_time: '--to',
  account_id: '--account',
  task_id: '--task',
  api_key_hash: '--key',
  generation_id: '--generation',
  transaction_id: '--transaction',
};
const PARAMETER = new RegExp(`\\b(?:${Object.keys(OPTIONS).join('|')})\\b`, 'g');

/** Client of the operator API. Every failure becomes a CliError. */
export class AdminClient {
  readonly #settings: CliSettings;

  constructor(settings: CliSettings) {
    this.#settings = settings;
  }

  /** Returns `data` of a response. */
  async get<Data>(path: string, query: Query = {}, timeoutMs = TIMEOUT_MS): Promise<Data> {
    const { body } = await this.#send('GET', path + queryText(query), undefined, timeoutMs);
    return (body as { data: Data }).data;
  }

  /** Returns a whole response, including fields beside `data`. */
  async send<Body>(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Body> {
    const answer = await this.#send(method, path, body, TIMEOUT_MS, headers);
    return answer.body as Body;
  }

  /**
   * As {@link send} with POST and an Idempotency-Key, by default a new one. If the answer is lost, the error says how to repeat the command:
   * it may have been done, and a repetition under another key would do it again.
   */
  async sendOnce<Body>(path: string, body: object, key: string = randomUUID()): Promise<Body> {
    try {
      return await this.send<Body>('POST', path, body, { 'idempotency-key': key });
    } catch (error) {
      if (error instanceof NoAnswerError) {
        const advice = `it may have been done. Repeat the command with --idempotency-key ${key} to do it only once.`;
        throw new CliError(`${error.message}; ${advice}`);
      }
      throw error;
    }
  }

  /** Reads up to `limit` rows of a list, over as many pages as needed. Calls `onRows` with the number of rows read so far. */
  async list<Row>(path: string, query: Query, limit: number, onRows: (rows: number) => void): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const page of this.pages<Row>(path, query, Math.min(limit, PAGE_ROWS))) {
      rows.push(...page);
      onRows(rows.length);
      if (rows.length >= limit) {
        break;
      }
    }
    return rows.slice(0, limit);
  }

  /** Iterates over a list page by page. Only one page is held in memory at a time. */
  async *pages<Row>(path: string, query: Query, pageRows = PAGE_ROWS): AsyncGenerator<readonly Row[]> {
    let next: string | undefined = path + queryText({ ...query, limit: String(pageRows) });
    while (next !== undefined) {
      const page: AdminPage<Row> = await this.#page<Row>(next);
      yield page.rows;
      next = page.next;
    }
  }

  async #page<Row>(path: string): Promise<AdminPage<Row>> {
    const { body, link } = await this.#send('GET', path, undefined, TIMEOUT_MS);
    return { rows: (body as { data: Row[] }).data, next: NEXT_LINK.exec(link)?.[1] };
  }

  async #send(
    method: string,
    path: string,
    body: object | undefined,
    timeoutMs: number,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ body: unknown; link: string }> {
    const { url, token } = this.#settings;
    const unreachable = (error: unknown) => {
      throw new NoAnswerError(`${url} is unreachable: ${reasonOf(error)}`);
    };
    const response = await fetch(url + path, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(unreachable);
    const text = await response.text().catch(unreachable);
    const parsed = parseAnswer(text, url);
    if (!response.ok) {
      const words = refusal(parsed, response.status);
      throw response.status < 500 ? new CliError(words) : new NoAnswerError(words);
    }
    return { body: parsed, link: response.headers.get('link') ?? '' };
  }
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

function parseAnswer(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NoAnswerError(`${url} does not appear to be a Tollgate server`);
  }
}

function refusal(body: unknown, status: number): string {
  const error = (body as { error?: { code?: string; message?: string } }).error;
  return error?.message === undefined
    ? `the service responded with status ${status}`
    : `${error.message.replace(PARAMETER, (name) => OPTIONS[name] ?? name)} (${error.code})`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

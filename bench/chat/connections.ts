import { type Answer, bodyText, Connection } from './connection.ts';

export interface ChatTarget {
  readonly name: string;
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Keys, used in turn. */
  readonly keys: readonly string[];
  /** Whether this is third-party software, whose failed calls are reported but do not end the run. */
  readonly isForeign: boolean;
}

/** What a call asks for: a whole answer, after 10 ms or at once; a stream, or a stream whose tokens come a second apart. */
export type Kind = 'plain' | 'instant' | 'streamed' | 'slow';

const PROMPTS: Readonly<Record<Kind, string>> = {
  plain: 'Write twenty words about nothing in particular, please.',
  instant: 'Write twenty words about nothing much, instantly.',
  streamed: 'Write twenty words about nothing in particular, please.',
  slow: 'Write twenty words about nothing in particular, slowly.',
};
const STREAMED: readonly Kind[] = ['streamed', 'slow'];

export interface Heard {
  /** Time of the first token (of the whole answer when it is not streamed), by `performance.now()`. */
  readonly firstAt: number;
  readonly text: string;
}

/** Connections to one target, opened when needed and kept. A call that finds all of them busy waits for one. */
export class Connections {
  readonly #target: ChatTarget;
  readonly #most: number;
  readonly #requests = new Map<Kind, readonly Buffer[]>();
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  #open = 0;
  #turn = 0;

  constructor(target: ChatTarget, most: number) {
    this.#target = target;
    this.#most = most;
  }

  /** Makes one call and reads the whole answer. Calls `onFirstToken` once a stream has begun. Throws when the status is not 200. */
  async call(kind: Kind, onFirstToken?: () => void): Promise<Heard> {
    const connection = await this.#take();
    let firstAt: number | undefined;
    const look = (body: string) => {
      if (firstAt === undefined && body.includes('word')) {
        firstAt = performance.now();
        onFirstToken?.();
      }
    };
    let answer: Answer;
    try {
      answer = await connection.call(this.#request(kind), STREAMED.includes(kind) ? look : undefined);
    } finally {
      this.#give(connection);
    }
    if (answer.status !== 200) {
      throw new Error(`${this.#target.name} answered ${answer.status}: ${answer.body.slice(0, 300)}`);
    }
    if (STREAMED.includes(kind)) {
      if (firstAt === undefined) {
        throw new Error(`${this.#target.name} sent a stream without a token`);
      }
      return { firstAt, text: bodyText(answer) };
    }
    return { firstAt: performance.now(), text: answer.body };
  }

  close(): void {
    for (const connection of this.#free) {
      connection.close();
    }
  }

  async #take(): Promise<Connection> {
    for (let free = this.#free.pop(); free; free = this.#free.pop()) {
      if (free.isOpen) {
        return free;
      }
      this.#open -= 1;
    }
    if (this.#open < this.#most) {
      this.#open += 1;
      return new Connection(this.#target.url);
    }
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Hands the connection to the next waiting call, which gets a new one instead when this one is closed. */
  #give(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) {
      next(connection.isOpen ? connection : new Connection(this.#target.url));
    } else {
      this.#free.push(connection);
    }
  }

  #request(kind: Kind): Buffer {
    const requests = this.#requests.get(kind) ?? this.#write(kind);
    this.#requests.set(kind, requests);
    this.#turn += 1;
    return requests[this.#turn % requests.length]!;
  }

  #write(kind: Kind): readonly Buffer[] {
    const { url, path, headers, keys } = this.#target;
    const body = JSON.stringify({
      model: 'bench/model',
      messages: [{ role: 'user', content: PROMPTS[kind] }],
      stream: STREAMED.includes(kind),
    });
    return keys.map((key) => {
      const lines = Object.entries({
        host: new URL(url).host,
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    });
  }
}

/** A message of the Postgres protocol, version 3. */
export interface PostgresMessage {
  /** One letter; empty for the first message of a client, which has none. */
  readonly type: string;
  readonly body: Buffer;
}

const LENGTH_BYTES = 4;

/** Splits one direction of a connection into its messages. */
export class MessageSplitter {
  #rest = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(side: 'client' | 'server') {
    this.#isFirst = side === 'client';
  }

  /** Returns the messages that this piece completes. */
  push(chunk: Buffer): PostgresMessage[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    const messages: PostgresMessage[] = [];
    for (;;) {
      const typeBytes = this.#isFirst ? 0 : 1;
      if (this.#rest.length < typeBytes + LENGTH_BYTES) {
        return messages;
      }
      const end = typeBytes + this.#rest.readUInt32BE(typeBytes);
      if (this.#rest.length < end) {
        return messages;
      }
      const type = this.#rest.toString('latin1', 0, typeBytes);
      messages.push({ type, body: this.#rest.subarray(typeBytes + LENGTH_BYTES, end) });
      this.#rest = this.#rest.subarray(end);
      this.#isFirst = false;
    }
  }
}

/**
 * Returns the statement that a client's message runs: the name of a prepared statement, or the text of an unnamed one; undefined for other
 * messages. An unnamed statement is recognized by its text, which is sent before its parameters.
 */
export function statementOf({ type, body }: PostgresMessage): string | undefined {
  switch (type) {
    case 'B': {
      const [, name = ''] = body.toString('latin1').split('\0', 2);
      return name === '' ? undefined : name;
    }
    case 'P': {
      const [name, text = ''] = body.toString('utf8').split('\0', 2);
      return name === '' ? text : undefined;
    }
    case 'Q':
      return body.toString('utf8', 0, body.length - 1);
    default:
      return undefined;
  }
}

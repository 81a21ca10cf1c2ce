import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { systemClock } from '../lib/clock.ts';
import { redactAnswer } from './redact-answer.ts';

export interface RecordSettings {
  readonly folder: string;
  /** Whether the letters of texts are replaced. */
  readonly redact: boolean;
  /** Answers recorded at most by one process. */
  readonly most: number;
}

/** Longer answers are not recorded, in bytes: a row is read by people. */
const ANSWER_BYTES_MAX = 1_048_576;

/** What a row says of the call besides the answer. */
export interface RecordedCall {
  /** The answer's content type. */
  readonly type: string;
  /** Whether a stream was asked for. */
  readonly streamed: boolean;
  readonly maxOutputTokens: number;
}

/** Takes in one answer as its pieces arrive. */
export interface Recording {
  add(piece: Uint8Array): void;
  /** Writes the answer; called once, when all of it has arrived. */
  end(): void;
}

/**
 * Writes answers of a provider as rows of the replay table (test/replay), for operators who meet one that is presented
 * wrongly. Off unless the provider's entry says `record`. Never in the way of a call: a row that cannot be written is a
 * warning of the process.
 */
export class AnswerRecorder {
  readonly #settings: RecordSettings;
  readonly #provider: string;
  readonly #protocol: string;
  #recorded = 0;

  constructor(provider: string, protocol: string, settings: RecordSettings) {
    this.#provider = provider;
    this.#protocol = protocol;
    this.#settings = settings;
  }

  /** Undefined once enough was recorded. */
  begin(call: RecordedCall): Recording | undefined {
    if (this.#recorded >= this.#settings.most) {
      return undefined;
    }
    this.#recorded += 1;
    const pieces: Buffer[] = [];
    let bytes = 0;
    return {
      add: (piece) => {
        bytes += piece.length;
        if (bytes <= ANSWER_BYTES_MAX) {
          pieces.push(Buffer.from(piece));
        }
      },
      end: () => {
        if (bytes <= ANSWER_BYTES_MAX) {
          this.#write(call, pieces).catch((error: Error) => process.emitWarning(error));
        }
      },
    };
  }

  async #write({ type, streamed, maxOutputTokens }: RecordedCall, pieces: readonly Buffer[]): Promise<void> {
    const { folder, redact } = this.#settings;
    const name = `${this.#provider}-${systemClock.now()}-${randomBytes(4).toString('hex')}`;
    const kept = redact ? redactAnswer(pieces) : pieces;
    const isJson = type.includes('json');
    const came = isJson
      ? { json: Buffer.concat(kept).toString('utf8') }
      : { type, packets: kept.map(packetOf) };
    const said = {
      // by its name the table knows that a stream was asked for
      name: isJson && streamed ? `stream: ${name}` : name,
      protocol: this.#protocol,
      max_tokens: maxOutputTokens,
    };
    await mkdir(folder, { recursive: true });
    // content of customers: for the operator alone
    const row = stringify([{ ...said, ...came }]);
    await writeFile(join(folder, `${name}.yaml`), row, { flag: 'wx', mode: 0o600 });
  }
}

/** A piece as text, where it is text by itself: pieces may end within a character. */
function packetOf(piece: Buffer): string | { base64: string } {
  const text = piece.toString('utf8');
  return Buffer.from(text, 'utf8').equals(piece) ? text : { base64: piece.toString('base64') };
}

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { systemClock } from '../lib/clock.ts';

export interface RecordSettings {
  readonly folder: string;
  /** Whether letters and digits in texts are replaced. */
  readonly redact: boolean;
  /** Maximum number of answers that one process records. */
  readonly most: number;
}

/** Maximum size of a recorded answer, in bytes. Longer ones are skipped: people read the rows. */
const ANSWER_BYTES_MAX = 1_048_576;

/** Members whose texts are protocol keywords or tool names. Every other text is content. */
const STRUCTURAL = new Set([
  'id',
  'call_id',
  'object',
  'type',
  'role',
  'name',
  'model',
  'code',
  'status',
  'reason',
  'format',
  'finish_reason',
  'native_finish_reason',
  'stop_reason',
  'service_tier',
  'system_fingerprint',
]);

/** Token counts that a provider writes as text. They are kept: the bill depends on them. */
const COUNT = /^\d{1,15}$/;
const COUNT_MEMBER = /[a-z](?:_t|T)okens$/;

/** A JSON string, and the colon after it if it is a member's name. */
const LITERAL = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs;
/** Escapes, JSON's keywords (arguments are JSON inside a string), letters, digits, and non-ASCII bytes. */
const PIECES = /\\u[0-9a-fA-F]{4}|\\.|\b(?:true|false|null)\b|[A-Za-z]|[0-9]|[\x80-\xff]/g;

/** The facts about the call that a row holds besides the answer. */
export interface RecordedCall {
  /** The answer's content type. */
  readonly type: string;
  /** Whether the caller asked for a stream. */
  readonly streamed: boolean;
  readonly maxOutputTokens: number;
}

/** Collects one answer as its pieces arrive. */
export interface Recording {
  add(piece: Uint8Array): void;
  /** Writes the answer. Called once, when all of it has arrived. */
  end(): void;
}

/**
 * Writes a provider's answers as rows of the replay table (test/replay), for operators who see one presented wrongly. Off unless the
 * provider's entry sets `record`. Never affects the call: a row that cannot be written only emits a process warning.
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

  /** Starts recording an answer. Returns undefined once the maximum has been recorded. */
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
      // the replay table recognizes calls that asked for a stream by this prefix
      name: isJson && streamed ? `stream: ${name}` : name,
      protocol: this.#protocol,
      max_tokens: maxOutputTokens,
    };
    await mkdir(folder, { recursive: true });
    // customer content: readable by the operator only
    const row = stringify([{ ...said, ...came }]);
    await writeFile(join(folder, `${name}.yaml`), row, { flag: 'wx', mode: 0o600 });
  }
}

/** Returns a piece as text if it is valid UTF-8 on its own, otherwise as base64: pieces may end within a character. */
function packetOf(piece: Buffer): string | { base64: string } {
  const text = piece.toString('utf8');
  return Buffer.from(text, 'utf8').equals(piece) ? text : { base64: piece.toString('base64') };
}

/**
 * Replaces letters and digits in texts. Structure, lengths and the boundaries between pieces stay as they came; the content
 * does not.
 */
export function redactAnswer(pieces: readonly Buffer[]): Buffer[] {
  // latin1 maps one byte to one character, so positions match the bytes
  const text = Buffer.concat(pieces).toString('latin1');
  let member = '';
  const redacted = text.replace(LITERAL, (literal, content: string, colon: string | undefined) => {
    if (colon !== undefined) {
      member = content;
      return literal;
    }
    const isCount = COUNT_MEMBER.test(member) && COUNT.test(content);
    return isCount || STRUCTURAL.has(member) ? literal : `"${content.replace(PIECES, redactPiece)}"`;
  });
  const bytes = Buffer.from(redacted, 'latin1');
  let start = 0;
  return pieces.map((piece) => {
    start += piece.length;
    return bytes.subarray(start - piece.length, start);
  });
}

function redactPiece(piece: string): string {
  if (piece.length === 1) {
    return /[0-9]/.test(piece) ? '1' : 'x';
  }
  return piece.startsWith('\\u') ? '\\u0078' : piece;
}

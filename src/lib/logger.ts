import { writeSync } from 'node:fs';
import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

export interface LoggerSettings {
  /** Name of the process: `api`, `worker`, … */
  readonly name: string;
  readonly level: string;
}

/** Members that would do most harm in a log. Redacted at the top level of a line and one level below. */
const REDACTED_MEMBERS = [
  'authorization',
  'cookie',
  'x-api-key',
  'apiKey',
  'api_key',
  'secret',
  'prompt',
  'messages',
];

/**
 * Creates the structured logger of a process. Lines carry ids, amounts and durations; callers never pass prompts, completions, secrets
 * or upstream bodies, and redacting {@link REDACTED_MEMBERS} is a second safeguard. Writes to standard output by default, as {@link LogOutput} does.
 */
export function createLogger(settings: LoggerSettings, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    name: settings.name,
    level: settings.level,
    base: { name: settings.name, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { error: stdSerializers.err },
    redact: {
      paths: REDACTED_MEMBERS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
      censor: '[redacted]',
    },
  };
  return pino(options, destination ?? standardOutput(settings.name));
}

let output: LogOutput | undefined;

/** Returns the one output of the process. It is written before the process exits, even after an uncaught exception. */
function standardOutput(name: string): DestinationStream {
  if (output === undefined) {
    const opened = new LogOutput({ describeLoss: (lines, code) => lossLine(name, lines, code) });
    process.once('exit', () => opened.close());
    output = opened;
  }
  return output;
}

/** Written without pino, whose own lines are the ones that were lost. */
function lossLine(name: string, lines: number, code: string): string {
  const [level, time] = [pino.levels.values.warn, new Date().toISOString()];
  const msg = 'log lines were lost because the log could not be written';
  return `${JSON.stringify({ level, time, name, pid: process.pid, lines, code, msg })}\n`;
}

export interface LogOutputOptions {
  /** Descriptor of the open file, pipe or terminal; defaults to standard output. */
  readonly descriptor?: number;
  /** Writes the bytes and returns how many were taken; for tests. Throws as `fs.writeSync`. */
  readonly write?: (descriptor: number, bytes: Buffer) => number;
  /** Makes the line that reports lost ones, once lines can be written again. `code`: why, e.g. `ENOSPC`. */
  readonly describeLoss: (lines: number, code: string) => string;
}

/** Lines are gathered and written once they have this many characters, or after this many ms. */
const GATHER_CHARACTERS = 4_096;
const GATHER_MS = 100;
/** Characters kept while nothing can be written. Lines beyond that are lost. */
const KEPT_CHARACTERS = 1_048_576;
/** What the end of a process may wait for a pipe whose reader is slow: tries, and ms between them. */
const LAST_TRIES = 10;
const LAST_PAUSE_MS = 50;

/**
 * Writes log lines, many with one system call. A log that cannot be written (its disk is full, its reader is slow or gone) never delays or
 * ends the process: lines wait, the newest beyond 1 MB are lost, and a line says how many once the log can be written again.
 */
export class LogOutput {
  readonly #descriptor: number;
  readonly #write: (descriptor: number, bytes: Buffer) => number;
  readonly #describeLoss: LogOutputOptions['describeLoss'];
  #gathered = '';
  /** Bytes that an earlier write did not take. */
  #rest: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  /** Why the last write failed; undefined when it did not. */
  #failure: string | undefined;

  constructor({ descriptor = 1, write = writeSync, describeLoss }: LogOutputOptions) {
    this.#descriptor = descriptor;
    this.#write = write;
    this.#describeLoss = describeLoss;
  }

  /** Takes one line with its line break. Never throws. */
  write(line: string): void {
    if (this.#failure === 'EPIPE') {
      return;
    }
    if (this.#gathered.length + this.#rest.length > KEPT_CHARACTERS) {
      this.#lost += 1;
      return;
    }
    this.#gathered += line;
    if (this.#gathered.length >= GATHER_CHARACTERS && this.#failure === undefined) {
      this.flush();
      return;
    }
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS).unref();
  }

  /** Writes what was gathered, as far as possible. Never throws. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const code = this.#failure;
    this.#writeAll();
    if (this.#failure === undefined && this.#lost > 0) {
      this.#gathered = this.#describeLoss(this.#lost, code ?? '');
      this.#lost = 0;
      this.#writeAll();
    }
    if (this.#rest.length > 0) {
      this.#timer = setTimeout(() => this.flush(), GATHER_MS).unref();
    }
  }

  /** Writes what is left before the process ends. Waits half a second at most for a slow reader. Never throws. */
  close(): void {
    this.flush();
    for (let left = LAST_TRIES; this.#failure === 'EAGAIN' && left > 0; left -= 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_PAUSE_MS);
      this.flush();
    }
  }

  #writeAll(): void {
    let bytes = Buffer.concat([this.#rest, Buffer.from(this.#gathered)]);
    this.#gathered = '';
    this.#failure = undefined;
    try {
      while (bytes.length > 0) {
        bytes = bytes.subarray(this.#write(this.#descriptor, bytes));
      }
    } catch (error) {
      this.#failure = String((error as NodeJS.ErrnoException).code);
    }
    // nobody reads a broken pipe again
    this.#rest = this.#failure === 'EPIPE' ? Buffer.alloc(0) : Buffer.from(bytes);
  }
}

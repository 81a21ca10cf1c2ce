import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

export interface LoggerSettings {
  /** Which process writes: `api`, `worker`, … */
  readonly name: string;
  readonly level: string;
}

/** A line is written once so much has gathered, or so many ms later. */
const GATHER_BYTES = 4_096;
const GATHER_MS = 100;

/** Members that would hurt most in a log, struck out at the top of a line and one level below. */
const HURTFUL = ['authorization', 'cookie', 'x-api-key', 'apiKey', 'api_key', 'secret', 'prompt', 'messages'];

/**
 * The structured logger of one process. Lines carry ids, amounts and durations; prompts, completions, secrets and
 * upstream bodies are never handed to it, and {@link HURTFUL} is a second fence.
 * Writes to standard output unless told otherwise, gathered for at most {@link GATHER_MS}.
 */
export function createLogger(settings: LoggerSettings, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    name: settings.name,
    level: settings.level,
    base: { name: settings.name, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { error: stdSerializers.err },
    redact: {
      paths: HURTFUL.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
      censor: '[redacted]',
    },
  };
  return pino(options, destination ?? standardOutput());
}

let output: ReturnType<typeof pino.destination> | undefined;

/** One system call for many lines. What is gathered is written before the process exits, also when it crashes by an exception. */
function standardOutput(): DestinationStream {
  if (output === undefined) {
    const gathering = pino.destination({ sync: true, minLength: GATHER_BYTES, periodicFlush: GATHER_MS });
    process.once('exit', () => gathering.flushSync());
    output = gathering;
  }
  return output;
}

import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

export interface LoggerSettings {
  /** Name of the process: `api`, `worker`, … */
  readonly name: string;
  readonly level: string;
}

/** Log lines are buffered and written once they reach this many bytes, or after this many ms. */
const GATHER_BYTES = 4_096;
const GATHER_MS = 100;

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
 * or upstream bodies, and redacting {@link REDACTED_MEMBERS} is a second safeguard. Writes to standard output by default, buffered for at most
 * {@link GATHER_MS}.
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
  return pino(options, destination ?? standardOutput());
}

let output: ReturnType<typeof pino.destination> | undefined;

/** Writes many lines with one system call. Flushes before the process exits, even after an uncaught exception. */
function standardOutput(): DestinationStream {
  if (output === undefined) {
    const gathering = pino.destination({ sync: true, minLength: GATHER_BYTES, periodicFlush: GATHER_MS });
    process.once('exit', () => gathering.flushSync());
    output = gathering;
  }
  return output;
}

import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino, stdSerializers } from 'pino';
import { LogOutput } from './log-output.ts';

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

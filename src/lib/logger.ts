import type { Logger } from 'pino';
import { pino, stdSerializers } from 'pino';

export type { Logger } from 'pino';

export interface LoggerSettings {
  /** Which process writes: `api`, `worker`, … */
  readonly name: string;
  readonly level: string;
}

/**
 * The structured logger of one process. Lines carry ids, amounts and durations; prompts, completions, secrets and
 * upstream bodies are never handed to it, and the paths below are a second fence for the ones that would hurt most.
 */
export function createLogger(settings: LoggerSettings): Logger {
  return pino({
    name: settings.name,
    level: settings.level,
    base: { name: settings.name, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { error: stdSerializers.err },
    redact: {
      paths: [
        '*.authorization',
        '*["x-api-key"]',
        '*.apiKey',
        '*.api_key',
        '*.secret',
        '*.prompt',
        '*.messages',
      ],
      censor: '[redacted]',
    },
  });
}

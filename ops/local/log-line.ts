export type LogLine = { level: 'info' | 'warning' | 'error'; text: string };

/** A JSON record of a log; `atMs` is NaN if it has no time. */
type LogRecord = { level: number; text: string; atMs: number };

/** Reads one line of a child's log: a JSON record with a numeric level (30, 40, 50 …) or plain text. */
export function readLogLine(line: string): LogLine {
  const record = parseRecord(line);
  if (record !== undefined) {
    const level = record.level >= 50 ? 'error' : record.level >= 40 ? 'warning' : 'info';
    return { level, text: record.text };
  }
  if (/^\s*at /.test(line)) {
    return { level: 'info', text: line.trim() };
  }
  if (/\b(ERROR|FATAL|PANIC)\b|^\w*Error\b|: error:|Error: /.test(line)) {
    return { level: 'error', text: line.replace(/^(Uncaught )?Error: /, '').trim() };
  }
  return { level: /\bWARN(ING)?\b/.test(line) ? 'warning' : 'info', text: line.trim() };
}

/**
 * Returns the last error in a log, or its last line; undefined for an empty log. With `sinceMs`, everything up to the last record from
 * before that time (ms since the epoch) is left out.
 */
export function lastProblem(log: string, sinceMs = Number.NEGATIVE_INFINITY): string | undefined {
  const said = log.split('\n').filter((line) => line.trim() !== '');
  const lastOld = said.findLastIndex((line) => (parseRecord(line)?.atMs ?? Number.NaN) < sinceMs);
  const lines = said.slice(lastOld + 1).map(readLogLine);
  return (lines.findLast((line) => line.level === 'error') ?? lines.at(-1))?.text;
}

function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith('{')) {
    return undefined;
  }
  try {
    const record = JSON.parse(line) as {
      level?: unknown;
      time?: unknown;
      msg?: unknown;
      err?: { message?: unknown };
    };
    if (typeof record.level !== 'number') {
      return undefined;
    }
    const cause = typeof record.err?.message === 'string' ? record.err.message : '';
    const message = typeof record.msg === 'string' ? record.msg : '';
    const text =
      message === '' || cause === '' || message.includes(cause) ? message || cause : `${message}: ${cause}`;
    return { level: record.level, text, atMs: Date.parse(String(record.time)) };
  } catch {
    return undefined;
  }
}

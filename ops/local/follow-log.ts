import { logSize, readLogFrom } from '../embedded/service-log.ts';

const POLL_MS = 200;

/** Calls `onLine` for each complete line appended to the file from now on. Returns a function that stops this. */
export function followLog(path: string, onLine: (line: string) => void): () => void {
  let offset = logSize(path);
  const readNew = () => {
    const size = logSize(path);
    if (size < offset) {
      offset = 0;
    }
    const text = size > offset ? readLogFrom(path, offset) : '';
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      offset = size - Buffer.byteLength(text.slice(end));
      for (const line of text.slice(0, end - 1).split('\n')) {
        onLine(line);
      }
    }
  };
  const timer = setInterval(readNew, POLL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    readNew();
  };
}

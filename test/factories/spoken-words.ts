import type { Script } from './upstream-server.ts';

/** Returns the words of the script that remain after a token cap and stop sequences. */
export function spoken(
  script: Script,
  cap: number,
  stops: readonly string[],
): { words: string[]; end: 'stop' | 'length' | 'sequence'; sequence: string | null } {
  const words: string[] = [];
  let text = '';
  for (const word of script.fault === 'empty' ? [] : script.words) {
    const sequence = stops.find((stop) => (text + word).includes(stop));
    if (sequence !== undefined) {
      return { words, end: 'sequence', sequence };
    }
    if (words.length >= cap && script.fault !== 'ignores_cap') {
      return { words, end: 'length', sequence: null };
    }
    words.push(word);
    text += word;
  }
  return { words, end: 'stop', sequence: null };
}

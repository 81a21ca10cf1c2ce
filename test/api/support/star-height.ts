interface Group {
  /** Whether a part of it repeats without a limit. */
  repeats: boolean;
}

const ENDLESS = /^(?:[*+]|\{\d+,\})/;
const QUANTIFIER = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/;

/**
 * Returns whether a pattern repeats a group without a limit that itself repeats something without a limit, like `(a+)*`. Such a pattern
 * can make a backtracking engine take exponential time.
 */
export function hasNestedRepetition(pattern: string): boolean {
  const groups: Group[] = [{ repeats: false }];
  let at = 0;
  while (at < pattern.length) {
    const length = atomLength(pattern, at);
    const closed = pattern[at] === ')' ? groups.pop() : undefined;
    if (pattern[at] === '(') {
      groups.push({ repeats: false });
    }
    at += length;
    const rest = pattern.slice(at, at + 20);
    const isEndless = pattern[at - length] !== '(' && ENDLESS.test(rest);
    if (isEndless && closed?.repeats) {
      return true;
    }
    const around = groups.at(-1);
    if (around && (isEndless || closed?.repeats)) {
      around.repeats = true;
    }
    at += pattern[at - length] === '(' ? 0 : (QUANTIFIER.exec(rest)?.[0].length ?? 0);
  }
  return false;
}

/** Matches the characters of an escape, a class, the head of a group, or one character. */
function atomLength(pattern: string, at: number): number {
  const rest = pattern.slice(at);
  const atom =
    /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)/u.exec(rest) ??
    /^\[(?:\\.|[^\]\\])*\]/u.exec(rest) ??
    /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(rest);
  return atom?.[0].length ?? 1;
}

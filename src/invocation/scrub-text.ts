import type { InvocableModel } from './invocation.types.ts';

/** The most of a provider's words that a caller is told, in UTF-16 units. */
const TOLD_MAX = 400;
/** Words that may stand for an account or a machine: addresses of any kind, names of organisations, long random ids. */
const PRIVATE = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, '[address]'],
  [/\b[\w.+-]+@[\w-]+\.[\w.-]+/g, '[address]'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '[address]'],
  [/\b(?:org|proj|acct|account|project|user|team|req|request)[-_][\w-]{6,}/gi, '[id]'],
  [/\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}\b/gi, '[id]'],
] as const;

/** A provider's words, which hold no keys any more, without what else is the operator's alone: addresses, ids, and the names its models have there. */
export function scrubbed(text: string, { id, routes }: Pick<InvocableModel, 'id' | 'routes'>): string {
  let told = text
    .slice(0, TOLD_MAX * 2)
    .replace(/\s+/g, ' ')
    .trim();
  for (const [pattern, word] of PRIVATE) {
    told = told.replace(pattern, word);
  }
  for (const { model, provider } of routes) {
    told = replaceWord(replaceWord(told, model, id), provider, 'the provider');
  }
  return told.length > TOLD_MAX ? `${told.slice(0, TOLD_MAX - 1)}…` : told;
}

/** Only whole names: a provider called `open` is not part of every word. */
function replaceWord(text: string, word: string, by: string): string {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w/.-])${escaped}(?![\\w/-])`, 'g'), () => by);
}

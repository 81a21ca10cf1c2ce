import type { InvocableModel } from './invocation.types.ts';

/** Most characters of a provider's message shown to a caller, in UTF-16 units. */
const MESSAGE_MAX = 400;
/** Patterns that may identify an account or a machine: addresses of any kind, names of organizations, long random ids. */
const PRIVATE = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, '[address]'],
  [/\b[\w.+-]+@[\w-]+\.[\w.-]+/g, '[address]'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '[address]'],
  [/\b(?:org|proj|acct|account|project|user|team|req|request)[-_][\w-]{6,}/gi, '[id]'],
  [/\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}\b/gi, '[id]'],
] as const;

/**
 * Removes from a provider's message, already free of keys, everything else that only the operator may see: addresses, ids, and the
 * provider's names for its models.
 */
export function scrubbed(text: string, { id, routes }: Pick<InvocableModel, 'id' | 'routes'>): string {
  let told = text
    .slice(0, MESSAGE_MAX * 2)
    .replace(/\s+/g, ' ')
    .trim();
  for (const [pattern, word] of PRIVATE) {
    told = told.replace(pattern, word);
  }
  for (const { model, provider } of routes) {
    told = replaceWord(replaceWord(told, model, id), provider, 'the provider');
  }
  return told.length > MESSAGE_MAX ? `${told.slice(0, MESSAGE_MAX - 1)}…` : told;
}

/** Replaces whole words only: a provider called `open` must not match inside other words. */
function replaceWord(text: string, word: string, by: string): string {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w/.-])${escaped}(?![\\w/-])`, 'g'), () => by);
}

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the snippets of a page below docs/languages, in order. Throws when there are none. */
export function snippetsOf(page: string, language: string): string[] {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/languages/${page}`, import.meta.url)), 'utf8');
  const found = [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))];
  if (found.length === 0) {
    throw new Error(`${page} has no snippets in ${language}`);
  }
  return found.map(([, code = '']) => code);
}

/** Returns a page as one program: its first snippet is the head, the others form the body of what `wrap` returns. */
export function programOf(page: string, language: string, wrap = (body: string) => body): string {
  const [head = '', ...rest] = snippetsOf(page, language);
  return `${head}\n${wrap(rest.join('\n'))}`;
}

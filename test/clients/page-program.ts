import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The snippets of a page below docs/languages, in their order. Throws when there are none. */
export function snippetsOf(page: string, language: string): string[] {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/languages/${page}`, import.meta.url)), 'utf8');
  const found = [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))];
  if (found.length === 0) {
    throw new Error(`${page} has no snippets in ${language}`);
  }
  return found.map(([, code = '']) => code);
}

/** A page as one program: its first snippet is the head, the others the body of what `wrap` puts around them. */
export function programOf(page: string, language: string, wrap = (body: string) => body): string {
  const [head = '', ...rest] = snippetsOf(page, language);
  return `${head}\n${wrap(rest.join('\n'))}`;
}

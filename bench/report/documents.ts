/** Replaces the level-2 section with the same title, or appends the section when there is none. */
export function withSection(text: string, title: string, content: string): string {
  const [opening = '', ...sections] = text.trimEnd().split(/\n+(?=## )/);
  const section = `## ${title}\n\n${content.trim()}`;
  const at = sections.findIndex((known) => known.startsWith(`## ${title}\n`));
  sections.splice(at < 0 ? sections.length : at, at < 0 ? 0 : 1, section);
  return `${[opening, ...sections].join('\n\n')}\n`;
}

/**
 * Replaces the sentences on lines that end with `<!-- bench: name -->` and keeps a list mark before them. Skips names that the text does
 * not quote.
 */
export function withHeadlines(text: string, headlines: Readonly<Record<string, string>>): string {
  return text.replace(
    /^(- )?.*<!-- bench: ([\w-]+) -->$/gm,
    (line: string, mark: string | undefined, name: string) =>
      headlines[name] === undefined ? line : `${mark ?? ''}${headlines[name]} <!-- bench: ${name} -->`,
  );
}

/** Puts a section of second order in the place of the one of the same title, or at the end where there is none. */
export function withSection(text: string, title: string, content: string): string {
  const [opening = '', ...sections] = text.trimEnd().split(/\n+(?=## )/);
  const section = `## ${title}\n\n${content.trim()}`;
  const at = sections.findIndex((known) => known.startsWith(`## ${title}\n`));
  sections.splice(at < 0 ? sections.length : at, at < 0 ? 0 : 1, section);
  return `${[opening, ...sections].join('\n\n')}\n`;
}

/**
 * Puts sentences in the place of those that stand in lines which end in `<!-- bench: name -->`; the mark of a list before them stays.
 * Names that the text does not quote are passed over.
 */
export function withHeadlines(text: string, headlines: Readonly<Record<string, string>>): string {
  return text.replace(
    /^(- )?.*<!-- bench: ([\w-]+) -->$/gm,
    (line: string, mark: string | undefined, name: string) =>
      headlines[name] === undefined ? line : `${mark ?? ''}${headlines[name]} <!-- bench: ${name} -->`,
  );
}

/** A4 in points. */
export const PAGE_WIDTH = 595;
export const PAGE_HEIGHT = 842;
export const MARGIN = 48;

export interface Palette {
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly link: string;
}

export const palette: Palette = { ink: '#1c2321', soft: '#5f6b66', line: '#d0d7d3', link: '#0b6b53' };

/** The built-in fonts of PDF know Latin-1; every other character becomes a question mark. */
export function winAnsi(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/gu, '?');
}

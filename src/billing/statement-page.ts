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

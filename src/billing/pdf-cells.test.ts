import PDFDocument from 'pdfkit';
import { type Cell, drawCells, isBuiltInText } from './pdf-cells.ts';

const INK = '#ff8000';

async function drawn(cells: readonly Cell[]): Promise<string> {
  const pdf = new PDFDocument({ compress: false, font: '', size: [400, 100], margin: 0 });
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise((resolve) => pdf.on('end', resolve));
  drawCells(pdf, 10, 10, cells);
  pdf.end();
  await ended;
  return Buffer.concat(chunks).toString('latin1');
}

const hex = (text: string) => `[<${Buffer.from(text, 'latin1').toString('hex')}>] TJ`;

test('text is aligned to the left, to the right or to the center', async () => {
  const cell = { text: '10', x: 100, width: 50, color: INK };
  const page = await drawn([cell, { ...cell, align: 'right' }, { ...cell, align: 'center' }]);
  const line = (x: number) => `1 0.502 0 rg\n1 0 0 -1 ${x} 17.18 Tm\n${hex('10')}`;
  // a digit of Helvetica is 0.556 times the font size wide
  for (const x of [100, 138.88, 119.44]) {
    expect(page).toContain(line(x));
  }
});

test('text that is too wide is cut and ends with an ellipsis', async () => {
  const page = await drawn([{ text: '1234567890', x: 0, width: 30, color: INK }]);
  // an ellipsis is as wide as the font size
  expect(page).toContain(hex('123\x85'));
});

test('each font is embedded once, and a link works', async () => {
  const cell = { text: 'é', x: 0, width: 50, color: INK } as const;
  const page = await drawn([cell, cell, { ...cell, font: 'Helvetica-Bold', link: 'https://example.com/x' }]);
  expect(page.match(/\/BaseFont \/Helvetica\n/g)).toHaveLength(1);
  expect(page.match(/\/BaseFont \/Helvetica-Bold\n/g)).toHaveLength(1);
  expect(page).toContain('https://example.com/x');
});

test.each([
  ['', true],
  ['Émile & Söhne', true],
  ['Łódź', false],
  ['東京', false],
  ['two\nlines', false],
])('%j can be drawn with the built-in fonts: %s', (text, expected) => {
  expect(isBuiltInText(text)).toBe(expected);
});

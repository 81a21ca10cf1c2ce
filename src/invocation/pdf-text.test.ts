import { deflateSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import PDFDocument from 'pdfkit';
import { stepsTaken } from '../../test/factories/steps-taken.ts';
import { atOnce } from '../lib/steps.ts';
import { measurePdf } from './pdf-pages.ts';

function measured(bytes: Buffer): { pages: number; textBytes: number } | undefined {
  return atOnce(measurePdf(bytes.toString('base64')));
}

interface StreamObject {
  readonly dictionary?: string;
  readonly content: string;
  readonly raw?: boolean;
  readonly ascii85?: boolean;
}

/** Encodes as Adobe's base 85. */
function ascii85(bytes: Buffer): Buffer {
  let text = '';
  for (let start = 0; start < bytes.length; start += 4) {
    const group = Buffer.alloc(4);
    const length = bytes.copy(group, 0, start);
    let value = group.readUInt32BE();
    const letters: string[] = [];
    for (let place = 0; place < 5; place += 1) {
      letters.unshift(String.fromCharCode(33 + (value % 85)));
      value = Math.floor(value / 85);
    }
    text += letters.slice(0, length + 1).join('');
  }
  return Buffer.from(`${text}~>`);
}

/** Builds a PDF; object numbers count from 1. */
function pdf(...objects: (string | StreamObject)[]): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  for (const [index, object] of objects.entries()) {
    const head = `${index + 1} 0 obj\n`;
    if (typeof object === 'string') {
      parts.push(Buffer.from(`${head}${object}\nendobj\n`, 'latin1'));
      continue;
    }
    const { dictionary = '', content, raw = false, ascii85: as85 = false } = object;
    const plain = Buffer.from(content, 'latin1');
    const data = raw ? plain : as85 ? ascii85(deflateSync(plain)) : deflateSync(plain);
    const filter = raw ? '' : as85 ? '/Filter [ /ASCII85Decode /FlateDecode ]' : '/Filter /FlateDecode';
    const start = `${head}<< ${dictionary} ${filter} /Length ${data.length} >>\nstream\n`;
    parts.push(Buffer.from(start, 'latin1'), data, Buffer.from('\nendstream\nendobj\n'));
  }
  return Buffer.concat(parts);
}

const LIST = '<< /Type /Pages /Kids [2 0 R] /Count 1 >>';
const page = (more: string) => `<< /Type /Page /Parent 1 0 R ${more} >>`;
const SAID = 'x'.repeat(1_000);
const SHOWN = `BT (${SAID}) Tj ET`;

test.each([1, 20])('counts the text of %i pages written by pdfkit', async (pages) => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(60);
  const document = new PDFDocument({ autoFirstPage: false, margin: 0 });
  for (let number = 0; number < pages; number += 1) {
    document.addPage({ size: [800, 5_000] }).text(text);
  }
  document.end();
  const size = measured(Buffer.concat(await document.toArray()));
  expect(size?.pages).toBe(pages);
  expect(size?.textBytes).toBeGreaterThanOrEqual(0.9 * text.length * pages);
  expect(size?.textBytes).toBeLessThan(1.5 * text.length * pages);
});

test.each<[string, Buffer, number]>([
  ['a packed content', pdf(LIST, page('/Contents 3 0 R'), { content: SHOWN }), 1_000],
  ['a content in base 85', pdf(LIST, page('/Contents 3 0 R'), { content: SHOWN, ascii85: true }), 1_000],
  ['a plain content', pdf(LIST, page('/Contents 3 0 R'), { content: SHOWN, raw: true }), 1_000],
  [
    'a content that calls itself an image',
    pdf(LIST, page('/Contents 3 0 R'), { dictionary: '/Subtype /Image', content: SHOWN }),
    1_000,
  ],
  [
    'strings in hex',
    pdf(LIST, page('/Contents 3 0 R'), { content: `BT <${'41'.repeat(1_000)}> Tj ET` }),
    1_000,
  ],
  [
    'several contents',
    pdf(LIST, page('/Contents [3 0 R 4 0 R]'), { content: SHOWN }, { content: SHOWN }),
    2_000,
  ],
  [
    'a list of contents',
    pdf(LIST, page('/Contents 5 0 R'), { content: SHOWN }, { content: SHOWN }, '[3 0 R 4 0 R]'),
    2_000,
  ],
  [
    'a content with the word that ends streams in a string',
    pdf(LIST, page('/Contents 3 0 R'), {
      content: `BT (\nendstream\nendobj\n) Tj (${SAID}) Tj ET`,
      raw: true,
    }),
    1_000,
  ],
  [
    'a content whose comment begins a string',
    pdf(LIST, page('/Contents 3 0 R'), { content: `%(\n${SHOWN}` }),
    1_000,
  ],
  [
    'parts shown by name, again and again',
    pdf(
      LIST,
      page('/Contents 3 0 R /Resources << /XObject << /F#31 4 0 R >> >>'),
      { content: '/F1 Do /F#31 Do % ( \n/F1 Do' },
      { dictionary: '/Subtype /Form /Resources << /XObject << /G 5 0 R >> >>', content: '/G Do /G Do' },
      { dictionary: '/Subtype /Form', content: SHOWN },
    ),
    6_000,
  ],
  [
    'a page that is listed again and again',
    pdf('<< /Type /Pages /Kids [2 0 R 2 0 R 2 0 R] >>', page('/Contents 3 0 R'), { content: SHOWN }),
    3_000,
  ],
])('counts the text of %s', (_, document, least) => {
  const size = measured(document);
  expect(size?.textBytes).toBeGreaterThanOrEqual(least);
  expect(size?.textBytes).toBeLessThan(least * 1.2);
});

test.each<[string, Buffer]>([
  [
    'a part that shows itself',
    pdf(
      LIST,
      page('/Contents 3 0 R'),
      { content: '/F Do' },
      { dictionary: '/Subtype /Form /F 4 0 R', content: '/F Do' },
    ),
  ],
  [
    'a content packed in another way',
    pdf(LIST, page('/Contents 3 0 R'), { dictionary: '/DecodeParms 9 0 R', content: SHOWN }),
  ],
  [
    'a content with two lists of filters',
    pdf(LIST, page('/Contents 3 0 R'), { dictionary: '/Filter /LZWDecode', content: SHOWN }),
  ],
  [
    'a font that makes a long text of one letter',
    pdf(LIST, page('/Contents 3 0 R'), { content: SHOWN }, '<< /Type /Font /ToUnicode 5 0 R >>', {
      content: `1 beginbfchar <01> <${'0041'.repeat(20)}> endbfchar`,
    }),
  ],
])('does not guess the text of %s', (_, document) => {
  expect(measured(document)).toBeUndefined();
});

test('images show no text', () => {
  const picture = { dictionary: '/Subtype /Image', content: '(((('.repeat(5_000) };
  const document = pdf(
    LIST,
    page('/Contents 3 0 R /Resources << /XObject << /I 4 0 R >> >>'),
    { content: `/I Do ${SHOWN}` },
    picture,
  );
  expect(measured(document)).toEqual({ pages: 1, textBytes: expect.any(Number) });
  expect(measured(document)?.textBytes).toBeLessThan(1_100);
});

test.each([
  ['text', 'BT (some text of a page) Tj ET '.repeat(250_000)],
  ['names', '/F '.repeat(2_600_000)],
])('32 MB of %s are read in many short steps', (_, content) => {
  const contents = Array.from({ length: 4 }, () => ({ content }));
  const document = pdf(LIST, page('/Contents [3 0 R 4 0 R 5 0 R 6 0 R] /F 9 0 R'), ...contents);
  const { count, totalUs, longestShare } = stepsTaken(measurePdf(document.toString('base64')));
  expect(count).toBeGreaterThan(20);
  expect(longestShare).toBeLessThan(0.8);
  // names are counted up to a limit: a small file could otherwise cost seconds
  expect(totalUs).toBeLessThan(5_000_000);
});

test('a font with very many codes is read in one short step', () => {
  const font = '<< /Type /Font /ToUnicode 5 0 R >>';
  const map = { content: `beginbfchar ${'<41>'.repeat(1_900_000)}`, raw: true };
  const document = pdf(LIST, page('/Contents 3 0 R'), { content: SHOWN }, font, map);
  const startedAt = process.cpuUsage();
  expect(measured(document)?.textBytes).toBeGreaterThanOrEqual(1_000);
  expect(process.cpuUsage(startedAt).user).toBeLessThan(1_000_000);
});

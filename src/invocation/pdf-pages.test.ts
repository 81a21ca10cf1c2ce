import { deflateSync } from 'node:zlib';
import PDFDocument from 'pdfkit';
import { stepsTaken } from '../../test/factories/steps-taken.ts';
import { atOnce } from '../lib/steps.ts';
import { measurePdf } from './pdf-pages.ts';

function pagesIn(bytes: Buffer): number | undefined {
  return atOnce(measurePdf(bytes.toString('base64')))?.pages;
}

async function written(pages: number): Promise<Buffer> {
  const document = new PDFDocument({ autoFirstPage: false });
  for (let page = 0; page < pages; page += 1) {
    document.addPage().text(`page ${page}`);
  }
  document.end();
  return Buffer.concat(await document.toArray());
}

/** Builds a PDF from objects. An entry with `packed` becomes an object stream of (number, dictionary) pairs. */
function pdf(
  ...objects: (string | { readonly packed: readonly (readonly [number, string])[]; readonly more?: string })[]
): Buffer {
  const parts: (string | Buffer)[] = ['%PDF-1.7\n'];
  for (const [index, object] of objects.entries()) {
    if (typeof object === 'string') {
      parts.push(`${index + 1} 0 obj\n${object}\nendobj\n`);
    } else {
      const texts = object.packed.map(([, text]) => text);
      const head = object.packed
        .map(
          ([number], place) => `${number} ${texts.slice(0, place).join('\n').length + (place > 0 ? 1 : 0)}`,
        )
        .join(' ');
      const data = deflateSync(`${head}\n${texts.join('\n')}`);
      const dictionary = `<< /Type /ObjStm /N ${texts.length} /First ${head.length + 1} /Filter /FlateDecode ${object.more ?? ''} >>`;
      parts.push(`${index + 1} 0 obj\n${dictionary}\nstream\n`, data, '\nendstream\nendobj\n');
    }
  }
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
}

const PAGE = '<< /Type /Page /Parent 1 0 R >>';

test.each([1, 2, 37, 300])('counts %i pages written by pdfkit', async (pages) => {
  expect(pagesIn(await written(pages))).toBe(pages);
});

test('pages in object streams count once each', () => {
  const packed: [number, string][] = [10, 11, 12].map((number) => [number, PAGE]);
  const list = '<< /Type /Pages /Count 3 /Kids [10 0 R 11 0 R 12 0 R] >>';
  expect(pagesIn(pdf(list, { packed }))).toBe(3);
  // a later revision repeats the same objects and adds one
  expect(pagesIn(pdf(list, { packed }, { packed: [...packed, [13, PAGE]] }))).toBe(4);
});

test.each([
  ['the declared count is too small', pdf('<< /Type /Pages /Count 1 >>', PAGE, PAGE, PAGE), 3],
  ['names use hex escapes', pdf('<</#54ype/P#61ge>>', '<</Type%c\n/Page>>'.replace('%c', '')), 2],
  ['one page is listed several times', pdf('<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R]>>', PAGE), 3],
  [
    'a list is listed several times',
    pdf('<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R]>>', '<</Type/Pages/Kids[3 0 R 3 0 R]>>', PAGE),
    6,
  ],
  ['a list is a separate object', pdf('<</Type/Pages/Kids 2 0 R>>', '[3 0 R 3 0 R 3 0 R]', PAGE), 3],
  ['a list continues after a comment', pdf('<</Type/Pages/Kids[2 0 R %]\n2 0 R 2 0 R]>>', PAGE), 3],
  ['the type of a page follows a comment', pdf('<</Type %x\n/Page>>'), 1],
  ['a string contains a list', pdf('<</Type/Pages/A(/Kids[2 0 R])/Kids[2 0 R 2 0 R 2 0 R]>>', PAGE), 4],
  [
    'lists do not declare their type',
    pdf('<</Type/Catalog/Pages 2 0 R>>', '<</Kids[3 0 R]>>', '<</Kids[4 0 R 4 0 R]>>', PAGE),
    2,
  ],
  ['a page does not declare its type', pdf('<< /Parent 1 0 R /MediaBox [0 0 9 9] >>'), 1],
  ['pages hide in a stream', pdf(`<< /Length 1 >>\nstream\nx\nendstream\n7 0 obj\n${PAGE}`), 1],
])('cannot be tricked into a lower count: %s', (_, bytes, pages) => {
  expect(pagesIn(bytes)).toBe(pages);
});

test.each([
  ['not a PDF', Buffer.from('hello, this is text')],
  ['an empty file', Buffer.alloc(0)],
  ['no pages', pdf('<< /Type /Catalog >>')],
  ['a list that contains itself', pdf('<</Type/Pages/Kids[2 0 R 1 0 R]>>', PAGE)],
  ['a list that contains strings', pdf('<</Type/Pages/Kids[2 0 R (]) 2 0 R 2 0 R]>>', PAGE)],
  [
    'lists nested too deep',
    pdf(...Array.from({ length: 80 }, (_, depth) => `<</Type/Pages/Kids[${depth + 2} 0 R]>>`)),
  ],
  ['packed with another filter', pdf({ packed: [[9, PAGE]], more: '/DecodeParms << /Predictor 12 >>' })],
  [
    'damaged compression',
    Buffer.from(
      pdf({ packed: [[9, PAGE]] })
        .toString('latin1')
        .replace('stream\nx', 'stream\ny'),
      'latin1',
    ),
  ],
  ['a decompression bomb', pdf({ packed: [[9, PAGE + ' '.repeat(9 * 2 ** 20)]] })],
])('the page count is unknown: %s', (_, bytes) => {
  expect(pagesIn(bytes)).toBeUndefined();
});

test.each([
  ['objects without an end', 'x1 0 obj'],
  ['very many objects', '1 0 obj <<>> endobj '],
  ['bytes of scans', '\x00\xff\x12 stream'],
])('20 MB of %s are scanned in many short steps', (_, filler) => {
  const base64 = Buffer.concat([pdf(PAGE), Buffer.alloc(20 * 2 ** 20, filler, 'latin1')]).toString('base64');
  const { count, longestShare } = stepsTaken(measurePdf(base64));
  expect(count).toBeGreaterThan(20);
  // a garbage collection may fall into one step
  expect(longestShare).toBeLessThan(0.8);
});

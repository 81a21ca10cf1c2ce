import { inflateSync } from 'node:zlib';

/** Returns the inflated streams of a PDF, cut by their stated length because the last byte may be a carriage return. */
export function streamsOf(bytes: Buffer): string[] {
  return [
    ...bytes
      .toString('latin1')
      .matchAll(/\/Length (\d+)\n(?:[^>]*\n)?\/Filter \/FlateDecode[^>]*>>\nstream\n/g),
  ].map(({ 0: head, 1: length, index }) => {
    const start = index + head.length;
    return inflateSync(bytes.subarray(start, start + Number(length))).toString('latin1');
  });
}

/** Returns the text drawn in one of our PDFs: hex strings inside compressed content streams. */
export function pdfText(bytes: Buffer): string {
  const found: string[] = [];
  for (const content of streamsOf(bytes)) {
    for (const line of content.matchAll(/\[([^\]]*)\] TJ/g)) {
      const hex = [...(line[1] ?? '').matchAll(/<([0-9a-f]*)>/g)].map(([, digits]) => digits).join('');
      found.push(Buffer.from(hex, 'hex').toString('latin1'));
    }
  }
  return found.join('\n');
}

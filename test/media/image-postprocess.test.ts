import { createHash } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { bytesOf } from '../../src/lib/file-content.ts';
import type { Ffmpeg } from '../../src/media/ffmpeg.ts';
import { sizeInHeader } from '../../src/media/image-file.ts';
import { pngChunk } from '../../src/media/png-copy.ts';
import { type PostprocessJob, postprocess } from '../../src/media/postprocess.ts';
import { testFolder } from './media-tools.ts';

const NO_FFMPEG = {} as Ffmpeg;
const SECRET = 'the-secret-prompt-of-a-customer';
const BEHIND = Buffer.from(SECRET);
const signal = new AbortController().signal;

/** An image with structure, so that encoders have something to do. */
function picture(width: number, height: number) {
  const pixels = Buffer.alloc(width * height * 3);
  for (let index = 0; index < pixels.length; index += 1) {
    pixels[index] = (index * 7 + Math.floor(index / 911) * 13) % 256;
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** Inserts a tEXt chunk after the header of a PNG, as image engines do with prompts. */
function withText(png: Buffer, text: string): Buffer {
  const body = Buffer.from(`parameters\0${text}`, 'latin1');
  return Buffer.concat([png.subarray(0, 33), pngChunk('tEXt', body), png.subarray(33)]);
}

/** Returns the zlib stream of a PNG whose pixel data is one chunk. */
function streamOf(png: Buffer): Buffer {
  const at = png.indexOf('IDAT');
  return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4));
}

/** Returns a valid PNG file with other pixel data. */
function withStream(png: Buffer, stream: Buffer): Buffer {
  return Buffer.concat([png.subarray(0, 33), pngChunk('IDAT', stream), pngChunk('IEND', Buffer.alloc(0))]);
}

/** Pixel data that no decoder accepts, derived from valid data. */
const BROKEN: [string, (stream: Buffer, rowBytes: number) => Buffer][] = [
  ['a row short', (stream, rowBytes) => deflateSync(inflateSync(stream).subarray(0, -rowBytes))],
  ['a byte short', (stream) => deflateSync(inflateSync(stream).subarray(0, -1))],
  ['without their end', (stream) => stream.subarray(0, -20)],
  ['without their checksum', (stream) => stream.subarray(0, -4)],
  ['with a wrong checksum', (stream) => Buffer.concat([stream.subarray(0, -4), Buffer.from('none')])],
  [
    'with an unknown filter in the last row',
    (stream, rowBytes) => {
      const rows = inflateSync(stream);
      rows[rows.length - rowBytes] = 5;
      return deflateSync(rows);
    },
  ],
];

describe('post-processing of images', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;
  let count = 0;

  beforeAll(async () => {
    folder = await testFolder();
  });

  afterAll(() => folder?.remove());

  async function run(bytes: Buffer, job: Partial<PostprocessJob> & { width: number; height: number }) {
    count += 1;
    const work = await folder.sub(`job-${count}`);
    const input = join(work, 'input.bin');
    await writeFile(input, bytes);
    return postprocess({ kind: 'image', inputs: [input], folder: work, signal, ...job }, NO_FFMPEG);
  }

  test.each([
    [257, 1031, 272, 1040],
    [256, 256, 256, 256],
    [1536, 256, 1536, 1024],
    [1000, 1000, 960, 1000],
  ])('makes exactly %dx%d from %dx%d', async (width, height, givenWidth, givenHeight) => {
    const outputs = await run(await picture(givenWidth, givenHeight).png().toBuffer(), { width, height });
    expect(outputs.map(({ variant, mediaType }) => [variant, mediaType])).toEqual([
      ['original', 'image/png'],
      // an image no larger than a thumbnail is its own thumbnail
      ['thumbnail', Math.max(width, height) > 320 ? 'image/webp' : 'image/png'],
    ]);
    for (const output of outputs) {
      const bytes = await bytesOf(output.content);
      const found = await sharp(bytes).metadata();
      expect([found.width, found.height]).toEqual([output.width, output.height]);
      expect(output.bytes).toBe(bytes.length);
      expect(output.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    }
    expect([outputs[0]?.width, outputs[0]?.height]).toEqual([width, height]);
    expect(Math.max(outputs[1]!.width, outputs[1]!.height)).toBe(Math.min(320, Math.max(width, height)));
  });

  /** Three colored rows below each other, as a reader sees them: red, lime, blue. */
  async function flag(format: 'png' | 'jpeg' | 'webp', orientation: number): Promise<Buffer> {
    const stripes = (['red', 'lime', 'blue'] as const).map((background, index) => ({
      input: { create: { width: 400, height: 200, channels: 3 as const, background } },
      top: index * 200,
      left: 0,
    }));
    const upright = sharp({
      create: { width: 400, height: 600, channels: 3, background: 'black' },
    }).composite(stripes);
    const stored = sharp(await upright.png().toBuffer());
    // the pixels are stored turned the other way
    const back: Record<number, () => Sharp> = {
      1: () => stored,
      3: () => stored.rotate(180),
      6: () => stored.rotate(-90),
      8: () => stored.rotate(90),
    };
    const turned = await back[orientation]!().png().toBuffer();
    return await sharp(turned).withMetadata({ orientation }).toFormat(format).toBuffer();
  }

  test.each(
    (['png', 'jpeg', 'webp'] as const).flatMap((format) =>
      [1, 3, 6, 8].map((orientation) => [format, orientation] as const),
    ),
  )('turns a %s with orientation %d upright', async (format, orientation) => {
    const outputs = await run(await flag(format, orientation), { width: 400, height: 600 });
    for (const { content, width, height } of outputs) {
      const bytes = await bytesOf(content);
      expect((await sharp(bytes).metadata()).orientation).toBeUndefined();
      const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height]).toEqual([width, height]);
      const colors = [1 / 6, 3 / 6, 5 / 6].map((share) => {
        const at = (Math.floor(height * share) * width + Math.floor(width / 2)) * 3;
        const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
        return [red > 128, green > 128, blue > 128];
      });
      expect(colors).toEqual([
        [true, false, false],
        [false, true, false],
        [false, false, true],
      ]);
    }
  });

  test('keeps the colors of an image with 16 bits and a color profile', async () => {
    const flat = { create: { width: 400, height: 400, channels: 3 as const, background: '#c03020' } };
    const wide = await sharp(flat).toColourspace('rgb16').withIccProfile('p3').png().toBuffer();
    const [original] = await run(wide, { width: 400, height: 400 });
    const [red, green, blue] = await sharp(await bytesOf(original!.content))
      .raw()
      .toBuffer();
    expect([red! - 0xc0, green! - 0x30, blue! - 0x20].every((off) => Math.abs(off) <= 2)).toBe(true);
  });

  test('measures an image as it is shown', async () => {
    expect(await sizeInHeader(await flag('jpeg', 6))).toEqual({ width: 400, height: 600 });
    await expect(run(await flag('jpeg', 6), { width: 600, height: 400 })).rejects.toMatchObject({
      code: 'media_size_mismatch',
    });
  });

  test('crops at the center', async () => {
    const left = await sharp({ create: { width: 100, height: 100, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const middle = await sharp({ create: { width: 100, height: 100, channels: 3, background: 'lime' } })
      .png()
      .toBuffer();
    const raw = await Promise.all([left, middle].map((bytes) => sharp(bytes).raw().toBuffer()));
    const rows = Array.from({ length: 100 }, (_, y) =>
      [0, 1, 0].map((part) => raw[part]!.subarray(y * 300, y * 300 + 300)),
    ).flat();
    const bytes = await sharp(Buffer.concat(rows), { raw: { width: 300, height: 100, channels: 3 } })
      .png()
      .toBuffer();
    const [original] = await run(bytes, { width: 100, height: 100 });
    const { channels } = await sharp(await bytesOf(original!.content)).stats();
    expect(channels.slice(0, 3).map(({ mean }) => Math.round(mean))).toEqual([0, 255, 0]);
  });

  test.each(['png', 'jpeg'] as const)(
    'declares in %s how it was made, and keeps nothing the engine wrote',
    async (imageFormat) => {
      const exif = { IFD0: { ImageDescription: SECRET } };
      const marked = withText(await picture(300, 300).withExif(exif).png().toBuffer(), SECRET);
      expect(marked.includes(SECRET)).toBe(true);
      const outputs = await run(marked, { width: 300, height: 300, imageFormat });
      for (const output of outputs) {
        const bytes = await bytesOf(output.content);
        const { xmp, exif: kept } = await sharp(bytes).metadata();
        expect(bytes.includes(SECRET)).toBe(false);
        expect(kept).toBeUndefined();
        expect(String(xmp)).toContain(
          'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
        );
      }
    },
  );

  describe('a plain PNG of the right size', () => {
    const size = { width: 400, height: 300 };
    const pixelsOf = (bytes: Buffer) => sharp(bytes).raw().toBuffer();
    const pixelDataOf = (png: Buffer) => png.subarray(png.indexOf('IDAT') - 4, png.indexOf('IEND') - 4);

    test('keeps its compressed pixel data unchanged, and nothing else', async () => {
      const given = withText(await picture(400, 300).png({ compressionLevel: 2 }).toBuffer(), SECRET);
      const behind = Buffer.concat([given, Buffer.from(SECRET)]);
      const [original, thumbnail] = await run(behind, size);
      const bytes = await bytesOf(original!.content);
      expect(pixelDataOf(bytes).equals(pixelDataOf(given))).toBe(true);
      expect(bytes.includes(SECRET)).toBe(false);
      expect((await pixelsOf(bytes)).equals(await pixelsOf(given))).toBe(true);
      const { xmp } = await sharp(bytes).metadata();
      expect(String(xmp)).toContain('digitalsourcetype/trainedAlgorithmicMedia');
      expect(thumbnail).toMatchObject({ mediaType: 'image/webp', width: 320, height: 240 });
    });

    // The small one is its own thumbnail; the large one is decoded for its thumbnail. Both ways check every pixel.
    describe.each([
      ['small', 200, 100],
      ['large', 400, 300],
    ])('that is %s', (_name, width, height) => {
      const plain = async () => await picture(width, height).png().toBuffer();

      test.each(BROKEN)('is rejected with pixel data %s', async (_name, broken) => {
        const png = await plain();
        const given = withStream(png, broken(streamOf(png), width * 3 + 1));
        await expect(run(given, { width, height })).rejects.toMatchObject({ code: 'media_corrupt' });
      });

      test('is rejected when the checksum of a chunk is wrong', async () => {
        const given = await plain();
        given[given.length - 13]! ^= 1;
        await expect(run(given, { width, height })).rejects.toMatchObject({ code: 'media_corrupt' });
      });
    });

    test.each([
      ['after the rows', (stream: Buffer) => deflateSync(Buffer.concat([inflateSync(stream), BEHIND]))],
      ['after the stream', (stream: Buffer) => Buffer.concat([stream, BEHIND])],
    ])('that is small and hides something %s is re-encoded', async (_name, hide) => {
      const png = await picture(200, 100).png().toBuffer();
      const [original] = await run(withStream(png, hide(streamOf(png))), { width: 200, height: 100 });
      const bytes = await bytesOf(original!.content);
      expect((await pixelsOf(bytes)).equals(await pixelsOf(png))).toBe(true);
      expect(inflateSync(streamOf(bytes)).length).toBe((200 * 3 + 1) * 100);
      expect(bytes.includes(BEHIND)).toBe(false);
    });

    test('that is small keeps its pixel data, too', async () => {
      const png = await picture(200, 100).png().toBuffer();
      const [original] = await run(png, { width: 200, height: 100 });
      expect(streamOf(await bytesOf(original!.content)).equals(streamOf(png))).toBe(true);
    });

    test.each([
      ['hardly compressed', () => picture(400, 300).png({ compressionLevel: 0 })],
      ['with a palette', () => picture(400, 300).png({ palette: true })],
      ['with a colour profile', () => picture(400, 300).withIccProfile('p3').png()],
      ['interlaced', () => picture(400, 300).png({ progressive: true })],
      ['of 16 bits', () => picture(400, 300).toColourspace('rgb16').png()],
    ])('%s is re-encoded', async (_name, made) => {
      const given = await made().toBuffer();
      const [original] = await run(given, size);
      const bytes = await bytesOf(original!.content);
      expect(pixelDataOf(bytes).equals(pixelDataOf(given))).toBe(false);
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', ...size });
    });
  });

  test('declares algorithmicMedia for output that no trained model made', async () => {
    const [original] = await run(await picture(64, 64).webp().toBuffer(), {
      width: 64,
      height: 64,
      source: 'algorithmicMedia',
    });
    const { xmp } = await sharp(await bytesOf(original!.content)).metadata();
    expect(String(xmp)).toContain('digitalsourcetype/algorithmicMedia');
  });

  test('writes the same file again for the same input', async () => {
    const bytes = await picture(200, 200).jpeg().toBuffer();
    const [first] = await run(bytes, { width: 200, height: 200 });
    const [second] = await run(bytes, { width: 200, height: 200 });
    expect(first?.sha256).toBe(second?.sha256);
  });

  describe('rejects', () => {
    const size = { width: 256, height: 256 };
    const refused = (bytes: Buffer, code: string, retryable: boolean) =>
      expect(run(bytes, size)).rejects.toMatchObject({ name: 'MediaError', code, retryable });

    test.each([
      ['svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"/>')],
      ['pdf', Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj')],
      ['tiff', Buffer.from('49492a00080000000100000103000100', 'hex')],
      ['gif', Buffer.from('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff;', 'latin1')],
      ['a video', Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0', 'latin1')],
    ])('%s', (_name, bytes) => refused(bytes, 'media_type_refused', false));

    test('an empty file', () => refused(Buffer.alloc(0), 'media_corrupt', true));

    test.each(['png', 'jpeg', 'webp'] as const)('a truncated %s', async (format) => {
      const bytes = await picture(256, 256).toFormat(format).toBuffer();
      await refused(bytes.subarray(0, bytes.length * 0.6), 'media_corrupt', true);
    });

    test('a png with a flipped byte', async () => {
      const bytes = await picture(256, 256).png().toBuffer();
      bytes[bytes.length >> 1]! ^= 0xff;
      await refused(bytes, 'media_corrupt', true);
    });

    test('a polyglot: png first, then svg', () =>
      refused(
        Buffer.concat([
          Buffer.from('89504e470d0a1a0a', 'hex'),
          Buffer.from('<svg width="256" height="256"></svg>'),
        ]),
        'media_corrupt',
        true,
      ));

    test('a decompression bomb', async () => {
      const flat = sharp({ create: { width: 6000, height: 6000, channels: 3, background: 'red' } });
      const bytes = await flat.png().toBuffer();
      expect(bytes.length).toBeLessThan(1_000_000);
      await refused(bytes, 'media_pixel_limit', false);
    });

    test('an image clearly smaller than requested', async () =>
      refused(await picture(200, 256).png().toBuffer(), 'media_size_mismatch', false));

    test('a file over the byte cap, before reading it', async () => {
      const path = join(folder.path, 'huge.png');
      const file = await open(path, 'w');
      await file.write(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
      await file.truncate(33 * 1024 * 1024);
      await file.close();
      const job = { kind: 'image', inputs: [path], folder: folder.path, signal, ...size } as const;
      await expect(postprocess(job, NO_FFMPEG)).rejects.toMatchObject({ code: 'media_too_large' });
    });
  });

  test('stops on abort', async () => {
    const job = { kind: 'image', inputs: ['x'], folder: folder.path, width: 1, height: 1 } as const;
    await expect(postprocess({ ...job, signal: AbortSignal.abort('gone') }, NO_FFMPEG)).rejects.toBe('gone');
  });
});

import { mediaResponse } from './media-response.ts';

const object = {
  key: 'acct/a/2026-01/t/0-original-0123456789abcdef.mp4',
  bytes: 1000,
  mediaType: 'video/mp4',
};
const etag = '"0-original-0123456789abcdef.mp4"';
const options = { downloadName: undefined, secondsLeft: 59.7 };

describe('mediaResponse', () => {
  test('sends the whole object, with private caching until the link expires and no sniffing', () => {
    const { status, headers, range } = mediaResponse(object, {}, options);
    expect({ status, range }).toEqual({ status: 200, range: undefined });
    expect(headers).toMatchObject({
      'Content-Type': 'video/mp4',
      'Content-Length': '1000',
      'Cache-Control': 'private, max-age=59, immutable',
      'X-Content-Type-Options': 'nosniff',
      'Content-Disposition': 'inline',
      ETag: etag,
    });
  });

  test('sends a part', () => {
    const { status, headers, range } = mediaResponse(object, { range: 'bytes=-100' }, options);
    expect({ status, range }).toEqual({ status: 206, range: { start: 900, end: 999 } });
    expect(headers).toMatchObject({ 'Content-Length': '100', 'Content-Range': 'bytes 900-999/1000' });
  });

  test('rejects a part past the end', () => {
    const { status, headers } = mediaResponse(object, { range: 'bytes=1000-' }, options);
    expect(status).toBe(416);
    expect(headers['Content-Range']).toBe('bytes */1000');
  });

  test('ignores a range for another version', () => {
    expect(mediaResponse(object, { range: 'bytes=0-1', ifRange: '"other"' }, options).status).toBe(200);
    expect(mediaResponse(object, { range: 'bytes=0-1', ifRange: etag }, options).status).toBe(206);
  });

  test('answers a known version with 304', () => {
    expect(mediaResponse(object, { ifNoneMatch: `"x", W/${etag}` }, options).status).toBe(304);
    expect(mediaResponse(object, { ifNoneMatch: '"x"' }, options).status).toBe(200);
  });

  test('offers a download name', () => {
    const { headers } = mediaResponse(object, {}, { ...options, downloadName: 'film.mp4' });
    expect(headers['Content-Disposition']).toBe('attachment; filename="film.mp4"');
  });
});

import { createUrlSigner } from './signed-url.ts';

const KEY = 'acct/acc_1/2026-01/task/0-original-abababababababab.png';
const OTHER_KEY = 'acct/acc_2/2026-01/task/0-original-abababababababab.png';
const clock = { now: () => 1_800_000_000_500 };
const OLD = 'an old secret of enough length';
const NEW = 'a new secret of enough length';
const publicUrl = 'https://media.example.com/base';

function read(url: string) {
  const parsed = new URL(url);
  const query: Record<string, unknown> = Object.fromEntries(parsed.searchParams);
  return { method: 'GET', key: parsed.pathname.replace('/base/media/', ''), query };
}

describe('createUrlSigner', () => {
  const signer = createUrlSigner({ publicUrl, secret: NEW, clock });
  const url = signer.sign(KEY, { ttlSeconds: 3600 });

  test('makes a URL that it verifies', () => {
    expect(url).toMatch(
      /^https:\/\/media\.example\.com\/base\/media\/acct\/acc_1\/.*\?exp=1800003600&kid=[0-9a-f]{8}&sig=[\w-]{43}$/,
    );
    expect(signer.verify(read(url))).toEqual({ key: KEY, expiresAt: 1_800_003_600, downloadName: undefined });
    expect(signer.verify({ ...read(url), method: 'HEAD' }).key).toBe(KEY);
  });

  test('covers the download name', () => {
    const named = read(signer.sign(KEY, { ttlSeconds: 60, downloadName: 'my film.mp4' }));
    expect(signer.verify(named).downloadName).toBe('my film.mp4');
    const renamed = { ...named, query: { ...named.query, dl: 'evil.html' } };
    expect(() => signer.verify(renamed)).toThrow(expect.objectContaining({ code: 'signature_invalid' }));
  });

  test.each<[string, Partial<ReturnType<typeof read>>, Record<string, unknown>]>([
    ['another key', { key: OTHER_KEY }, {}],
    ['a key with ..', { key: '../secret' }, {}],
    ['a write', { method: 'PUT' }, {}],
    ['a later expiry', {}, { exp: '1900000000' }],
    ['an expiry written otherwise', {}, { exp: '01800003600' }],
    ['an expiry twice', {}, { exp: ['1800003600', '1800003600'] }],
    ['an added name', {}, { dl: 'x.png' }],
    ['no signature', {}, { sig: undefined }],
    ['an empty signature', {}, { sig: '' }],
    ['a truncated signature', {}, { sig: String(read(url).query.sig).slice(0, -2) }],
    ['an unknown key id', {}, { kid: '00000000' }],
    ['no key id', {}, { kid: undefined }],
  ])('rejects %s', (_name, request, query) => {
    const good = read(url);
    const tampered = { ...good, ...request, query: { ...good.query, ...query } };
    expect(() => signer.verify(tampered)).toThrow(
      expect.objectContaining({ code: 'signature_invalid', status: 403 }),
    );
  });

  test('refuses any single changed character of the signature', () => {
    const good = read(url);
    const sig = String(good.query.sig);
    // The last of 43 characters carries two bits that decode to nothing.
    for (let index = 0; index < sig.length - 1; index += 1) {
      const other = sig[index] === 'A' ? 'B' : 'A';
      const changed = { ...good.query, sig: sig.slice(0, index) + other + sig.slice(index + 1) };
      expect(() => signer.verify({ ...good, query: changed })).toThrow('signature');
    }
  });

  test('expires', () => {
    const later = createUrlSigner({ publicUrl, secret: NEW, clock: { now: () => 1_800_003_600_000 } });
    expect(() => later.verify(read(url))).toThrow(
      expect.objectContaining({ code: 'media_expired', status: 410 }),
    );
    const before = createUrlSigner({ publicUrl, secret: NEW, clock: { now: () => 1_800_003_599_000 } });
    expect(before.verify(read(url)).key).toBe(KEY);
  });

  test('rotates secrets', () => {
    const old = createUrlSigner({ publicUrl, secret: OLD, clock }).sign(KEY, { ttlSeconds: 60 });
    const rotating = createUrlSigner({ publicUrl, secret: NEW, previousSecrets: [OLD], clock });
    expect(rotating.verify(read(old)).key).toBe(KEY);
    expect(signer.verify(read(rotating.sign(KEY, { ttlSeconds: 60 }))).key).toBe(KEY);
    expect(() => signer.verify(read(old))).toThrow(expect.objectContaining({ code: 'signature_invalid' }));
  });

  test('signs only keys, for a limited time', () => {
    expect(() => signer.sign('../x', { ttlSeconds: 60 })).toThrow('storage keys');
    expect(() => signer.sign(KEY, { ttlSeconds: 0 })).toThrow('week');
    expect(() => signer.sign(KEY, { ttlSeconds: 8 * 24 * 3600 })).toThrow('week');
    expect(() => signer.sign(KEY, { ttlSeconds: 60, downloadName: 'a"\r\nX: y' })).toThrow('download name');
    expect(() => createUrlSigner({ publicUrl, secret: 'short', clock })).toThrow('16');
  });
});

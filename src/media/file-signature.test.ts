import { signatureOf } from './file-signature.ts';

const box = (brand: string) => Buffer.from(`\0\0\0\x20ftyp${brand}\0\0\x02\0`, 'latin1');

describe('signatureOf', () => {
  test.each([
    ['png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), { kind: 'image', type: 'png' }],
    ['jpeg', Buffer.from('ffd8ffe000104a46494600010100', 'hex'), { kind: 'image', type: 'jpeg' }],
    ['webp', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'), { kind: 'image', type: 'webp' }],
    ['avi', Buffer.from('RIFF\x10\0\0\0AVI LIST', 'latin1'), { kind: 'video', type: 'avi' }],
    ['webm', Buffer.from('1a45dfa39f4286810142f7810142', 'hex'), { kind: 'video', type: 'matroska' }],
    ['mp4', box('isom'), { kind: 'video', type: 'mov' }],
    ['mov', box('qt  '), { kind: 'video', type: 'mov' }],
  ])('accepts %s', (_name, head, signature) => {
    expect(signatureOf(head)).toEqual(signature);
  });

  test.each([
    ['svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg">')],
    ['xml', Buffer.from('<?xml version="1.0"?><svg/>')],
    ['pdf', Buffer.from('%PDF-1.7 something')],
    ['tiff', Buffer.from('49492a0008000000000000000000', 'hex')],
    ['gif', Buffer.from('GIF89a0000000000')],
    ['playlist', Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd')],
    ['concat script', Buffer.from('ffconcat version 1.0\nfile /etc/passwd')],
    ['avif', box('avif')],
    ['heic', box('heic')],
    ['wave', Buffer.from('RIFF\x10\0\0\0WAVEfmt ', 'latin1')],
    ['a short file', Buffer.from('ffd8ff', 'hex')],
    ['nothing', Buffer.alloc(0)],
  ])('rejects %s', (_name, head) => {
    expect(signatureOf(head)).toBeUndefined();
  });
});

import { requireFetchable } from './input-links.ts';

const refusalOf = (link: string, httpAllowed: boolean) => {
  try {
    requireFetchable(['data:image/png;base64,AAAA', link], httpAllowed);
    return undefined;
  } catch (error) {
    return String(error);
  }
};

test.each([
  'https://cdn.example/a.png?sig=1',
  'https://93.184.216.34:8443/a.png',
  'https://[2606:4700::1111]/a.png',
  'https://cdn.example./a.png',
  'https://internal.example/a.png',
  'data:image/svg+xml,%3Csvg/%3E',
])('%s is accepted', (link) => {
  expect(refusalOf(link, false)).toBeUndefined();
  expect(refusalOf(link.replace('https:', 'http:'), true)).toBeUndefined();
});

test.each([
  'https://127.0.0.1/a.png',
  'https://2130706433/a.png',
  'https://0x7f.1/a.png',
  'https://10.1.2.3/a.png',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::1]/a.png',
  'https://[::ffff:10.0.0.1]/a.png',
  'https://localhost:8080/a.png',
  'https://LOCALHOST./a.png',
  'https://redis/a.png',
  'https://redis./a.png',
  'https://metadata.google.internal/a.png',
  'https://printer.local/a.png',
])('%s is not on a public host', (link) => {
  expect(refusalOf(link, true)).toContain('public host');
  expect(refusalOf(link.replace('https:', 'http:'), true)).toContain('public host');
});

test.each(['file:///etc/passwd', 'ftp://cdn.example/a.png', 'gs://bucket/a.png', '/etc/passwd', ''])(
  '%j is rejected before a provider sees it',
  (link) => expect(refusalOf(link, true)).toContain('https:// or data: URL'),
);

test('http is rejected unless it is allowed, and the message quotes no more of the URL than needed', () => {
  expect(refusalOf('http://cdn.example/a.png', false)).toContain(
    '"http://cdn.example/a.png": the URL of an image or file must begin with https://',
  );
  expect(refusalOf(`http://cdn.example/${'a'.repeat(10_000)}`, false)!.length).toBeLessThan(300);
});

import { baseUrlField } from './connection-settings.ts';

test.each([
  ['http://127.0.0.1:8188', undefined],
  ['https://api.example.org/v1?api-version=2', undefined],
  ['ftp://host', /^must be an http/],
  ['host:80', /^must be an http/],
  ['http://user:secret@host', /^must not contain a user or password: set `headers: .*Basic/],
  ['http://token@host/v1', /^must not contain a user or password/],
  ['http://:secret@host', /^must not contain a user or password/],
])('base_url %s', (text, mistake) => {
  const message = baseUrlField.safeParse(text).error?.issues[0]?.message;
  if (mistake === undefined) {
    expect(message).toBeUndefined();
  } else {
    expect(message).toMatch(mistake);
    expect(message).not.toContain('secret');
  }
});

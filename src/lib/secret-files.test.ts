import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { SecretFileError, secretOf, withSecretFiles } from './secret-files.ts';

const folder = temporaryFolder('secrets');

function file(content: string): string {
  const path = join(folder, 'secret');
  writeFileSync(path, content);
  return path;
}

test('reads a secret from its file, without the trailing line break', () => {
  for (const end of ['', '\n', '\r\n']) {
    expect(secretOf({ ANY_KEY_FILE: file(`two words${end}`) }, 'ANY_KEY')).toBe('two words');
  }
  expect(secretOf({ ANY_KEY: 'value', ANY_KEY_FILE: '' }, 'ANY_KEY')).toBe('value');
  expect(secretOf({}, 'ANY_KEY')).toBeUndefined();
});

test.each([
  [
    'both are set',
    () => ({ ANY_KEY: 'value', ANY_KEY_FILE: file('x') }),
    'ANY_KEY_FILE and ANY_KEY are both set',
  ],
  ['the file is empty', () => ({ ANY_KEY_FILE: file('\n') }), 'ANY_KEY_FILE names an empty file'],
  ['there is no file', () => ({ ANY_KEY_FILE: join(folder, 'none') }), 'cannot be read (ENOENT)'],
])('%s: the error is one line that names the variable', (_, variables, message) => {
  expect(() => secretOf(variables(), 'ANY_KEY')).toThrow(SecretFileError);
  expect(() => secretOf(variables(), 'ANY_KEY')).toThrow(message);
});

test('replaces only the known secrets of an environment, not other files', () => {
  const path = file('of the operator');
  const environment = { ADMIN_TOKEN_FILE: path, PREEMPTION_FILE: '/not/there', SSL_CERT_FILE: '/not/there' };
  expect(withSecretFiles(environment)).toMatchObject({
    ADMIN_TOKEN: 'of the operator',
    PREEMPTION_FILE: '/not/there',
    SSL_CERT_FILE: '/not/there',
  });
  expect(withSecretFiles(environment)).not.toHaveProperty('ADMIN_TOKEN_FILE');
});

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { ConfigError } from '../config/config-error.ts';
import { prepareFolder } from './data-folder.ts';

test('creates all levels that are missing, also when several processes do so at once', async () => {
  const path = join(temporaryFolder('data'), 'a', 'b', 'media');
  await Promise.all(Array.from({ length: 5 }, () => prepareFolder(path, 0o750)));
  expect(statSync(path).isDirectory()).toBe(true);
  await prepareFolder(path, 0o750);
});

test('a folder that cannot be is refused with one line that names the setting', async () => {
  const file = join(temporaryFolder('data'), 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'media'), '/proc/x/media', '/dev/null/x']) {
    const refused = prepareFolder(path, 0o750);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(`DATA_DIR: ${path} cannot be used (E`);
  }
});

import { keyNames } from './key-names.ts';

test('keys of the same name are told apart by their hashes, so that their costs are not added up', () => {
  const keys = [
    { hash: 'a'.repeat(64), name: 'ci' },
    { hash: 'b'.repeat(64), name: 'ci' },
    { hash: 'c'.repeat(64), name: 'production' },
  ];
  expect([...keyNames(keys).values()]).toEqual(['ci (aaaaaaaaaaaa)', 'ci (bbbbbbbbbbbb)', 'production']);
});

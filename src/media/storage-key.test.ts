import { isStorageKey, mediaTypeOfKey, storageKey } from './storage-key.ts';

const PARTS = {
  accountId: 'acc_01JD',
  taskId: '0193b2c0-0000-7000-8000-000000000001',
  createdAtMs: Date.UTC(2026, 0, 31, 23, 59),
  index: 0,
  variant: 'original',
  sha256: 'ab'.repeat(32),
  mediaType: 'video/mp4',
} as const;

describe('storageKey', () => {
  test('names account, month, task, index, variant and content', () => {
    const key = storageKey(PARTS);
    expect(key).toBe(`acct/acc_01JD/2026-01/${PARTS.taskId}/0-original-${'ab'.repeat(8)}.mp4`);
    expect(mediaTypeOfKey(key)).toBe('video/mp4');
  });

  test.each(['..', 'a/../b', '', '.hidden', 'a b', 'a\0b', 'ä'])('rejects the task id %p', (taskId) => {
    expect(() => storageKey({ ...PARTS, taskId })).toThrow('invalid storage key');
  });
});

describe('isStorageKey', () => {
  test.each([
    '../etc/passwd',
    '/etc/passwd',
    'acct/../../etc/passwd',
    'acct/./x.png',
    'acct//x.png',
    'acct/x.png/',
    '.incoming/abc',
    'acct/.incoming/abc',
    'acct\\..\\x.png',
    'acct/%2e%2e/x.png',
    'acct/x\n.png',
    'x.png',
    `acct/${'x'.repeat(600)}.png`,
  ])('rejects %p', (key) => {
    expect(isStorageKey(key)).toBe(false);
  });
});

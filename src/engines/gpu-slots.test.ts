import { expect, test } from '@jest/globals';
import { discoverGpus } from './gpu-slots.ts';

test('reads the listing of nvidia-smi', async () => {
  const listing = '0, NVIDIA L4, 23034\n1, NVIDIA GeForce RTX 4090, Founders, 24564\n\n';
  expect(await discoverGpus(async () => listing)).toEqual([
    { index: 0, name: 'NVIDIA L4', memoryMiB: 23_034 },
    { index: 1, name: 'NVIDIA GeForce RTX 4090, Founders', memoryMiB: 24_564 },
  ]);
});

test('no program, no driver, no GPU: none', async () => {
  const missing = async (): Promise<string> => {
    throw Object.assign(new Error('spawn nvidia-smi ENOENT'), { code: 'ENOENT' });
  };
  expect(await discoverGpus(missing)).toEqual([]);
  expect(await discoverGpus(async () => 'NVIDIA-SMI has failed\n')).toEqual([]);
});

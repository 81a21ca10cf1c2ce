import { expect, test } from '@jest/globals';
import { discoverGpus } from './gpu-slots.ts';

test('reads the listing of nvidia-smi', async () => {
  const listing = '0, NVIDIA L4, 23034\n1, NVIDIA GeForce RTX 4090, Founders, 24564\n\n';
  expect(await discoverGpus(undefined, async () => listing)).toEqual([
    { index: 0, name: 'NVIDIA L4', memoryMiB: 23_034 },
    { index: 1, name: 'NVIDIA GeForce RTX 4090, Founders', memoryMiB: 24_564 },
  ]);
});

test('no program, no driver, no GPU: none', async () => {
  const missing = async (): Promise<string> => {
    throw Object.assign(new Error('spawn nvidia-smi ENOENT'), { code: 'ENOENT' });
  };
  expect(await discoverGpus(undefined, missing)).toEqual([]);
  expect(await discoverGpus(undefined, async () => 'NVIDIA-SMI has failed\n')).toEqual([]);
});

test('of several GPUs those that this process is to see, as far as they are named by index', async () => {
  const listing = async () => '0, NVIDIA L4, 23034\n1, NVIDIA L4, 23034\n2, NVIDIA L4, 23034\n';
  const seen = async (visible: string) => (await discoverGpus(visible, listing)).map(({ index }) => index);
  expect(await seen('1')).toEqual([1]);
  expect(await seen('0, 2')).toEqual([0, 2]);
  expect(await seen('GPU-8932f937')).toEqual([0, 1, 2]);
});

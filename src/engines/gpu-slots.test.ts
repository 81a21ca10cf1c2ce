import { expect, test } from '@jest/globals';
import { discoverGpus, type ReadOutput, readGpuMemory } from './gpu-slots.ts';

const MISSING = Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' });

/** A host where each of these programs prints the given output. */
function host(programs: Readonly<Record<string, string>>): ReadOutput {
  return async (file) => programs[file] ?? Promise.reject(MISSING);
}

const NVIDIA = host({
  'nvidia-smi':
    '0, GPU-8932f937-d72c, 23034, 512, NVIDIA L4\n1, GPU-1b0c55aa-0001, 24564, 20000, NVIDIA GeForce RTX 4090, Founders\n\n',
});
const AMD = host({
  'rocm-smi': JSON.stringify({
    card0: {
      'Card Series': 'AMD Instinct MI210',
      'VRAM Total Memory (B)': '68702699520',
      'VRAM Total Used Memory (B)': '10960896',
    },
    card1: { 'VRAM Total Memory (B)': '17163091968', 'VRAM Total Used Memory (B)': '0' },
    system: { 'Driver version': '6.8' },
  }),
});

test('reads the listing of nvidia-smi', async () => {
  expect(await discoverGpus(undefined, NVIDIA)).toEqual([
    { index: 0, name: 'NVIDIA L4', memoryMiB: 23_034 },
    { index: 1, name: 'NVIDIA GeForce RTX 4090, Founders', memoryMiB: 24_564 },
  ]);
  expect(await readGpuMemory(NVIDIA)).toEqual([
    { index: 0, usedMiB: 512, totalMiB: 23_034 },
    { index: 1, usedMiB: 20_000, totalMiB: 24_564 },
  ]);
});

test('reads the listing of rocm-smi when there is no NVIDIA driver', async () => {
  expect(await discoverGpus(undefined, AMD)).toEqual([
    { index: 0, name: 'AMD Instinct MI210', memoryMiB: 65_520 },
    { index: 1, name: 'AMD GPU', memoryMiB: 16_368 },
  ]);
  expect(await readGpuMemory(AMD)).toEqual([
    { index: 0, usedMiB: 11, totalMiB: 65_520 },
    { index: 1, usedMiB: 0, totalMiB: 16_368 },
  ]);
});

test('lists none without a program, a driver or a GPU', async () => {
  expect(await discoverGpus(undefined, host({}))).toEqual([]);
  expect(await discoverGpus(undefined, host({ 'nvidia-smi': 'NVIDIA-SMI has failed\n' }))).toEqual([]);
  expect(await discoverGpus(undefined, host({ 'rocm-smi': '{"card0":{"VRAM Total' }))).toEqual([]);
});

test('lists only the GPUs visible to this process, by index or id, and none for a part of a GPU', async () => {
  const seen = async (visible: string) => (await discoverGpus(visible, NVIDIA)).map(({ index }) => index);
  expect(await seen('1')).toEqual([1]);
  expect(await seen('0, 1')).toEqual([0, 1]);
  expect(await seen('GPU-1b0c')).toEqual([1]);
  expect(await seen('MIG-5c1ab8f2')).toEqual([]);
});

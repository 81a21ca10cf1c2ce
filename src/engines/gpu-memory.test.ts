import { expect, test } from '@jest/globals';
import { freeMemory, type GpuNeed, planGpuMemory } from './gpu-memory.ts';

const CARDS = [0, 1].map((index) => ({ index, name: 'NVIDIA L4', memoryMiB: 24_000 }));
const [FIRST] = CARDS;
const need = (pool: string, mib: number, more: Partial<GpuNeed> = {}): GpuNeed => ({
  ...{ pool, mib, servers: undefined, keeps: false },
  ...more,
});
const planned = (needs: readonly GpuNeed[], cards = CARDS.slice(0, 1)) => {
  try {
    return planGpuMemory(needs, cards).map(({ pool, gpu }) => `${pool}@${gpu}`);
  } catch (error) {
    return String((error as Error).message);
  }
};

test('pools that release memory may each need the whole GPU; the GPU is the only one or is named', () => {
  expect(planned([need('image', 20_000), need('video', 24_000)])).toEqual(['image@0', 'video@0']);
  expect(planned([need('image', 1, { gpu: 1 })], CARDS)).toEqual(['image@1']);
  expect(planned([need('own', 1, { servers: [1] })], CARDS)).toEqual(['own@1']);
  expect(planned([need('own', 1, { servers: [0, 1], keeps: true })], CARDS)).toEqual(['own@0', 'own@1']);
});

test.each<[string, GpuNeed[], typeof CARDS, string]>([
  [
    'two that keep their memory',
    [need('a', 13_000, { keeps: true }), need('b', 12_000, { keeps: true })],
    [FIRST!],
    'engines.a.gpu_memory: 13000 MiB beside b (12000) do not fit on GPU 0, which has 24000',
  ],
  [
    'one beside another that keeps its memory',
    [need('a', 12_001), need('b', 12_000, { keeps: true })],
    [FIRST!],
    'engines.a.gpu_memory: 12001 MiB beside b (12000) do not fit on GPU 0, which has 24000',
  ],
  [
    'one alone',
    [need('a', 24_001)],
    [FIRST!],
    'engines.a.gpu_memory: 24001 MiB do not fit on GPU 0, which has 24000',
  ],
  [
    'no GPU',
    [need('a', 1)],
    [],
    'engines.a.gpu_memory: neither nvidia-smi nor rocm-smi shows a GPU of this host',
  ],
  [
    'an ambiguous GPU',
    [need('a', 1)],
    CARDS,
    'engines.a.gpu_memory.gpu: this host has 2 GPUs: name the one that its server uses',
  ],
  [
    'a GPU that does not exist',
    [need('a', 1, { gpu: 7 })],
    CARDS,
    'engines.a.gpu_memory.gpu: this host has no GPU 7',
  ],
  [
    'runs on several GPUs',
    [need('a', 1, { servers: [0, 1] })],
    CARDS,
    'engines.a.gpu_memory: its runs share one GPU with other pools: name that GPU in process.gpus, or run one worker per GPU',
  ],
])('needs that can never fit are reported in one line: %s', (_, needs, cards, message) => {
  expect(planned(needs, cards)).toBe(message);
});

test('freeing memory waits until the engine reports enough of it', async () => {
  let looks = 0;
  let freed = 0;
  const engine = {
    freeMemory: async () => {
      freed += 1;
    },
    readMemory: async () => [{ device: 'cuda:0', totalBytes: 24e9, freeBytes: ++looks < 3 ? 1e9 : 20e9 }],
  };
  await freeMemory(engine as never, 8_000);
  expect([freed, looks]).toEqual([1, 3]);
});

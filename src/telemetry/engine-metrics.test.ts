import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Engine } from '../engines/engine.types.ts';
import { createRunMetrics, registerEngineGauges, registerGpuGauge } from './engine-metrics.ts';

const linesOf = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('reports every served engine from the start, and the memory of those that report it', async () => {
  const registry = new Registry();
  const engines: Record<string, Partial<Engine>> = {
    comfy: { readMemory: async () => [{ device: 'cuda:0', totalBytes: 24e9, freeBytes: 4e9 }] },
    mute: { readMemory: () => Promise.reject(new Error('no such route')) },
    away: { readMemory: () => Promise.reject(new Error('must not be called')) },
  };
  registerEngineGauges(
    registry,
    { find: (pool) => engines[pool] as Engine },
    { served: ['comfy', 'mute', 'away'], isResting: (pool) => pool === 'away' },
  );
  expect(await linesOf(registry)).toEqual([
    'tollgate_engine_ready{pool="comfy"} 1',
    'tollgate_engine_ready{pool="mute"} 1',
    'tollgate_engine_ready{pool="away"} 0',
    'tollgate_engine_memory_bytes{pool="comfy",device="cuda:0",state="total"} 24000000000',
    'tollgate_engine_memory_bytes{pool="comfy",device="cuda:0",state="used"} 20000000000',
  ]);
});

test('a GPU that is no longer listed has no sample', async () => {
  const registry = new Registry();
  const gpus = [0, 1].map((index) => ({ index, usedMiB: 1, totalMiB: 2 }));
  registerGpuGauge(registry, async () => gpus);
  expect(await linesOf(registry)).toHaveLength(4);
  gpus.pop();
  expect(await linesOf(registry)).toEqual([
    'tollgate_gpu_memory_bytes{gpu="0",state="total"} 2097152',
    'tollgate_gpu_memory_bytes{gpu="0",state="used"} 1048576',
  ]);
});

test('times successful and failed runs, and counts failures by reason', async () => {
  const registry = new Registry();
  const observe = createRunMetrics(registry);
  observe('sd', 'ok', 1_500);
  observe('sd', 'out_of_memory', 400);
  const lines = await linesOf(registry);
  expect(lines).toContain('tollgate_engine_run_failures_total{pool="sd",code="out_of_memory"} 1');
  expect(lines).toContain('tollgate_engine_run_seconds_sum{pool="sd",outcome="ok"} 1.5');
  expect(lines).toContain('tollgate_engine_run_seconds_count{pool="sd",outcome="failed"} 1');
});

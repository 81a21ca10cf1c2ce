import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Engine } from './engine.types.ts';
import type { Gpu } from './gpu-slots.ts';
import { type EngineSettings, EngineSettingsError } from './registry.ts';

/** Ms an engine has to unload its models, and to have done so. */
const FREE_MS = 5_000;
const FREED_LOOK_MS = 200;
const MIB = 1_048_576;

/** `gpu_memory` of an entry of `engines:`. */
export const gpuMemorySettings = z.strictObject({
  mib: z.int().min(1).max(10_000_000).describe('the most that its server takes, models and runs together'),
  gpu: z
    .int()
    .min(0)
    .max(127)
    .optional()
    .describe(
      'index of the GPU that it is on; may be left out where its worker sees one, or `process` names it',
    ),
});
export type GpuMemorySettings = z.output<typeof gpuMemorySettings>;

/** `gpu_memory` of an entry; undefined where it has none. Throws EngineSettingsError. */
export function parseGpuMemory(entry: EngineSettings): GpuMemorySettings | undefined {
  if (entry.gpu_memory === undefined) {
    return undefined;
  }
  const parsed = gpuMemorySettings.safeParse(entry.gpu_memory);
  if (!parsed.success) {
    throw new EngineSettingsError(`engines.${entry.id}.gpu_memory: ${parsed.error.issues[0]?.message}`);
  }
  return parsed.data;
}

/** What the server of a pool takes of a GPU. */
export interface GpuShare {
  readonly pool: string;
  readonly gpu: number;
  readonly mib: number;
  /** It never gives memory back while it runs: then its share is nobody else's at any time. */
  readonly keeps: boolean;
}

/** A pool that declares its need, before it is known where its server stands. */
export interface GpuNeed extends GpuMemorySettings {
  readonly pool: string;
  /** GPUs that its own servers run on, by `process`; undefined: the server is somebody else's. */
  readonly servers: readonly number[] | undefined;
  readonly keeps: boolean;
}

/**
 * Where each need is met. Throws EngineSettingsError with one line for what can never fit: needs that are kept and together exceed their
 * GPU, or one that exceeds what those leave.
 */
export function planGpuMemory(needs: readonly GpuNeed[], gpus: readonly Gpu[]): GpuShare[] {
  const shares = needs.flatMap((need) =>
    placesOf(need, gpus).map((gpu) => ({ pool: need.pool, gpu, mib: need.mib, keeps: need.keeps })),
  );
  for (const { index, memoryMiB } of gpus) {
    const here = shares.filter(({ gpu }) => gpu === index);
    const kept = here.filter(({ keeps }) => keeps);
    const keptMib = sumOf(kept);
    for (const { pool, mib, keeps } of here) {
      const needed = keeps ? keptMib : keptMib + mib;
      if (needed > memoryMiB) {
        const others = kept.filter((share) => share.pool !== pool);
        const beside = others.length === 0 ? '' : ` beside ${others.map(nameOf).join(', ')}`;
        throw new EngineSettingsError(
          `engines.${pool}.gpu_memory: ${mib} MiB${beside} do not fit on GPU ${index}, which has ${memoryMiB}`,
        );
      }
    }
  }
  return shares;
}

/** Throws EngineSettingsError. */
function placesOf({ pool, gpu, servers, keeps }: GpuNeed, gpus: readonly Gpu[]): readonly number[] {
  const path = `engines.${pool}.gpu_memory`;
  const known = gpus.map(({ index }) => index);
  const [only] = known;
  if (only === undefined) {
    throw new EngineSettingsError(`${path}: neither nvidia-smi nor rocm-smi shows a GPU of this host`);
  }
  const places = servers ?? (gpu === undefined ? known : [gpu]);
  const missing = places.find((index) => !known.includes(index));
  if (missing !== undefined) {
    throw new EngineSettingsError(`${path}.gpu: this host has no GPU ${missing}`);
  }
  if (servers === undefined && places.length > 1) {
    throw new EngineSettingsError(`${path}.gpu: this host has ${known.length} GPUs: say on which one it is`);
  }
  if (!keeps && places.length > 1) {
    throw new EngineSettingsError(
      `${path}: its runs share one GPU with others: name that one in process.gpus, or run a worker per GPU`,
    );
  }
  return places;
}

function sumOf(shares: readonly GpuShare[]): number {
  return shares.reduce((sum, { mib }) => sum + mib, 0);
}

function nameOf({ pool, mib }: GpuShare): string {
  return `${pool} (${mib})`;
}

/**
 * Has an engine unload its models, and waits until that many MiB are free where it says so. Rejects when it cannot be asked, or does not
 * do it in time.
 */
export async function freeMemory(engine: Engine | undefined, mib: number): Promise<void> {
  const signal = AbortSignal.timeout(FREE_MS);
  await engine?.freeMemory?.(signal);
  for (;;) {
    const devices = (await engine?.readMemory?.(signal)) ?? [];
    if (devices.length === 0 || devices.some(({ freeBytes }) => freeBytes >= mib * MIB)) {
      return;
    }
    await delay(FREED_LOOK_MS, undefined, { signal });
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Engine } from './engine.types.ts';
import type { Gpu } from './gpu-slots.ts';
import { type EngineSettings, EngineSettingsError } from './registry.ts';

/** Time in ms for an engine to unload its models, until their memory is free. */
const FREE_MS = 5_000;
const FREED_LOOK_MS = 200;
const MIB = 1_048_576;

/** `gpu_memory` of an entry of `engines:`. */
export const gpuMemorySettings = z.strictObject({
  mib: z
    .int()
    .min(1)
    .max(10_000_000)
    .describe('the most memory that its server uses, models and runs together'),
  gpu: z
    .int()
    .min(0)
    .max(127)
    .optional()
    .describe(
      'index of the GPU that its server uses; may be omitted if its worker sees only one, or if `process` names it',
    ),
});
export type GpuMemorySettings = z.output<typeof gpuMemorySettings>;

/** Returns the `gpu_memory` of an entry, undefined when it has none. Throws EngineSettingsError. */
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

/** The part of a GPU's memory that the server of a pool uses. */
export interface GpuShare {
  readonly pool: string;
  readonly gpu: number;
  readonly mib: number;
  /** Whether it never releases memory while it runs. Its share is then never available to other pools. */
  readonly keeps: boolean;
}

/** The declared need of a pool, before it is known which GPU its server uses. */
export interface GpuNeed extends GpuMemorySettings {
  readonly pool: string;
  /** The GPUs that `process` starts its servers on; undefined when we do not run the server. */
  readonly servers: readonly number[] | undefined;
  readonly keeps: boolean;
}

/**
 * Assigns each need to its GPUs. Throws EngineSettingsError with one line when they can never fit: when the kept needs together exceed
 * their GPU, or another need exceeds what those leave.
 */
export function planGpuMemory(needs: readonly GpuNeed[], gpus: readonly Gpu[]): GpuShare[] {
  const shares = needs.flatMap((need) =>
    gpusFor(need, gpus).map((gpu) => ({ pool: need.pool, gpu, mib: need.mib, keeps: need.keeps })),
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
function gpusFor({ pool, gpu, servers, keeps }: GpuNeed, gpus: readonly Gpu[]): readonly number[] {
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
    throw new EngineSettingsError(
      `${path}.gpu: this host has ${known.length} GPUs: name the one that its server uses`,
    );
  }
  if (!keeps && places.length > 1) {
    throw new EngineSettingsError(
      `${path}: its runs share one GPU with other pools: name that GPU in process.gpus, or run one worker per GPU`,
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
 * Makes an engine unload its models, then waits until that many MiB are free, if the engine reports its memory. Rejects when the engine
 * cannot be asked or takes too long.
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

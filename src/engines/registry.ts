import { z } from 'zod';
import type { Engine } from './engine.types.ts';

/** An entry of `engines:` in tollgate.yaml. The factory of the kind validates the other settings. */
export interface EngineSettings {
  readonly id: string;
  readonly kind: string;
  readonly [setting: string]: unknown;
}

/** A kind of engine. */
export interface EngineKind {
  /** Creates the engine of one entry. Throws EngineSettingsError. */
  create(settings: EngineSettings): Engine;
  /** Concurrent runs when the entry sets none. */
  readonly slotsDefault: number;
  /** Whether its servers release their memory on request. */
  readonly freesMemory?: true;
  /** Returns the paths of the files that an entry names. Never throws, even for an invalid entry. */
  files?(settings: EngineSettings): string[];
}

/** An invalid entry of `engines:`. The message is one line that names it. */
export class EngineSettingsError extends Error {
  override readonly name = 'EngineSettingsError';
}

export interface EnginePool {
  readonly engine: Engine;
  /** Maximum number of concurrent runs on this host. */
  readonly slots: number;
}

const SLOTS_MAX = 1_000;
const SLOTS = z.union([z.literal('auto'), z.int().min(1).max(SLOTS_MAX)]).optional();

/** The engines of this installation by pool. A pool is named after its engine. The registry owns its engines. */
export class EngineRegistry {
  #pools: ReadonlyMap<string, EnginePool>;

  constructor(pools: ReadonlyMap<string, EnginePool>) {
    this.#pools = pools;
  }

  /** Pool names in the order of tollgate.yaml. */
  get names(): string[] {
    return [...this.#pools.keys()];
  }

  /** Pools whose engine can stop a run that has begun. */
  get stoppable(): string[] {
    return this.names.filter((name) => this.find(name)?.capabilities.cancelRunning);
  }

  /** Stoppable pools whose finished runs were free. */
  get discardable(): string[] {
    return this.stoppable.filter((name) => !this.find(name)?.capabilities.paid);
  }

  /** Returns the engine of a pool; undefined when this host has none. */
  find(pool: string): Engine | undefined {
    return this.#pools.get(pool)?.engine;
  }

  /** Returns the maximum number of concurrent runs on this host; 0 when there is no such pool. */
  slots(pool: string): number {
    return this.#pools.get(pool)?.slots ?? 0;
  }

  /**
   * Replaces its engines with those of `next`, which must not be used afterwards, and closes the old ones. Call it only when nothing runs
   * on them.
   */
  async replace(next: EngineRegistry): Promise<void> {
    const before = new EngineRegistry(this.#pools);
    this.#pools = next.#pools;
    await before.close();
  }

  /** Closes every engine. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#pools.values()].map(({ engine }) => engine.close()));
  }
}

/**
 * Builds the engines of tollgate.yaml. `slots: auto` means one per GPU of this host (`gpus`). Throws EngineSettingsError for an unknown
 * kind, a duplicate id, or invalid slots.
 */
export function buildEngines(
  entries: readonly EngineSettings[],
  kinds: ReadonlyMap<string, EngineKind>,
  gpus: number,
): EngineRegistry {
  const pools = new Map<string, EnginePool>();
  for (const [index, entry] of entries.entries()) {
    const kind = kinds.get(entry.kind);
    if (!kind) {
      const known = [...kinds.keys()].join(', ');
      throw new EngineSettingsError(`engines[${index}].kind: ${entry.kind} is not one of ${known}`);
    }
    if (pools.has(entry.id)) {
      throw new EngineSettingsError(`engines[${index}].id: ${entry.id} is used twice`);
    }
    const slots = SLOTS.safeParse(entry.slots);
    if (!slots.success) {
      throw new EngineSettingsError(`engines[${index}].slots: must be auto or 1 to ${SLOTS_MAX}`);
    }
    const count = slots.data === 'auto' ? gpus : (slots.data ?? kind.slotsDefault);
    pools.set(entry.id, { engine: kind.create(entry), slots: Math.max(1, count) });
  }
  return new EngineRegistry(pools);
}

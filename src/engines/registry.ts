import { z } from 'zod';
import type { Engine } from './engine.types.ts';

/** An entry of `engines:` in tollgate.yaml. What the kind needs beside these is checked by its factory. */
export interface EngineSettings {
  readonly id: string;
  readonly kind: string;
  readonly [setting: string]: unknown;
}

/** Makes the engine of one entry. Throws EngineSettingsError. */
export interface EngineKind {
  create(settings: EngineSettings): Engine;
  /** Runs at once where the entry says nothing. */
  readonly slotsDefault: number;
  /** Whether its servers give their memory back when they are asked to. */
  readonly freesMemory?: true;
  /** Paths of the files that an entry names. Throws nothing, also for an entry with mistakes. */
  files?(settings: EngineSettings): string[];
}

/** An entry of `engines:` that cannot be used. The message is one line that names it. */
export class EngineSettingsError extends Error {
  override readonly name = 'EngineSettingsError';
}

export interface EnginePool {
  readonly engine: Engine;
  /** Runs this host may have going at once. */
  readonly slots: number;
}

const SLOTS_MAX = 1_000;
const SLOTS = z.union([z.literal('auto'), z.int().min(1).max(SLOTS_MAX)]).optional();

/** The engines of this installation by pool; a pool is named after its engine. Owns them. */
export class EngineRegistry {
  #pools: ReadonlyMap<string, EnginePool>;

  constructor(pools: ReadonlyMap<string, EnginePool>) {
    this.#pools = pools;
  }

  /** Pools in the order of tollgate.yaml. */
  get names(): string[] {
    return [...this.#pools.keys()];
  }

  /** Pools whose engine can stop a run that has begun. */
  get stoppable(): string[] {
    return this.names.filter((name) => this.find(name)?.capabilities.cancelRunning);
  }

  /** The engine of a pool; undefined when this host has none. */
  find(pool: string): Engine | undefined {
    return this.#pools.get(pool)?.engine;
  }

  /** Runs at once on this host; 0 without such a pool. */
  slots(pool: string): number {
    return this.#pools.get(pool)?.slots ?? 0;
  }

  /** Takes the place of its engines by those of `next`, which is used up by it. Closes the ones before: to be called when nothing runs on them. */
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
 * Builds the engines of tollgate.yaml. `slots: auto` means one per GPU of this host, `gpus` of them. Throws EngineSettingsError for
 * an unknown kind, an id used twice, or slots that make no sense.
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

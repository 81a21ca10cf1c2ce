import type { EngineRoute, Model } from '../catalog/catalog.types.ts';
import type { EnginePools } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import type { TaskDispatchStore } from './task-dispatch.store.ts';
import type { TaskMove, TaskOverflowStore } from './task-overflow.store.ts';

/** Tasks kept waiting per slot of a pool that others overflow to; the rest may still be served where it is. */
const WAITING_PER_SLOT = 2;

/**
 * Moves waiting tasks to the other routes of their model: if no live worker serves their pool, or if they have waited as long as
 * the route says. Their price is that of the order, wherever they are made.
 */
export class OverflowService {
  readonly #store: Pick<TaskOverflowStore, 'waiting' | 'move'>;
  readonly #dispatch: Pick<TaskDispatchStore, 'liveSlots'>;
  readonly #models: () => Iterable<Model>;
  readonly #engines: EnginePools;
  readonly #log: Logger;

  constructor(
    store: Pick<TaskOverflowStore, 'waiting' | 'move'>,
    dispatch: Pick<TaskDispatchStore, 'liveSlots'>,
    models: () => Iterable<Model>,
    engines: EnginePools,
    log: Logger,
  ) {
    this.#store = store;
    this.#dispatch = dispatch;
    this.#models = models;
    this.#engines = engines;
    this.#log = log;
  }

  /** Makes one pass over the models with several routes. Concurrent passes are harmless. Returns how many tasks moved. */
  async move(): Promise<number> {
    const models = [...this.#models()].filter(({ engines }) => engines.length > 1);
    if (models.length === 0) {
      return 0;
    }
    const pools = [...new Set(models.flatMap(({ engines }) => engines.map(({ engine }) => engine)))];
    const [slots, counted] = await Promise.all([this.#dispatch.liveSlots(), this.#store.waiting(pools)]);
    const slotsOf = (pool: string): number => slots.get(`generate-${pool}`) ?? 0;
    const waiting = new Map(counted);
    let moved = 0;
    for (const { id, engines } of models) {
      for (const move of movesOf(id, engines, slotsOf)) {
        const room = slotsOf(move.to) * WAITING_PER_SLOT - (waiting.get(move.to) ?? 0);
        if (room > 0 && (waiting.get(move.from) ?? 0) > 0) {
          const isBilled = this.#engines.find(move.from)?.capabilities.paid ?? true;
          moved += await this.#carryOut({ ...move, isBilled }, room, waiting);
        }
      }
    }
    return moved;
  }

  async #carryOut(move: TaskMove, room: number, waiting: Map<string, number>): Promise<number> {
    const tasks = await this.#store.move(move, room);
    waiting.set(move.to, (waiting.get(move.to) ?? 0) + tasks);
    waiting.set(move.from, (waiting.get(move.from) ?? 0) - tasks);
    if (tasks > 0) {
      const { model, from, to } = move;
      this.#log.info({ model, from, to, tasks }, 'tasks moved to another engine');
    }
    return tasks;
  }
}

/** Returns where tasks of a model may move from each of its pools; earlier routes of the catalog come first. */
function movesOf(
  model: string,
  routes: readonly EngineRoute[],
  slotsOf: (pool: string) => number,
): Omit<TaskMove, 'isBilled'>[] {
  const isLive = ({ engine }: EngineRoute): boolean => slotsOf(engine) > 0;
  return routes.flatMap((from, at) =>
    routes.flatMap((to, index) => {
      if (index === at || !isLive(to)) {
        return [];
      }
      const isEarlierLive = routes.slice(0, index).some(isLive);
      // back to an earlier route only from one that is itself away
      const waitedMs = index < at ? (isLive(from) ? undefined : 0) : waitBefore(to, isEarlierLive);
      const move = { model, from: from.engine, to: to.engine, upstreamModel: to.model };
      return waitedMs === undefined ? [] : [{ ...move, waitedMs }];
    }),
  );
}

/** Returns the ms that a task must have waited before it moves to a route; undefined when it stays. */
function waitBefore({ when }: EngineRoute, isEarlierLive: boolean): number | undefined {
  if (when === 'unavailable') {
    return isEarlierLive ? undefined : 0;
  }
  return when === 'first' ? undefined : when.waitingMs;
}

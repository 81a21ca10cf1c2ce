import type { Database } from './database.ts';

export interface PoolCounts {
  /** Existing connections. */
  readonly total: number;
  readonly idle: number;
  /** Callers waiting for a connection. */
  readonly waiting: number;
}

/** Sequelize does not type its pool. */
interface SequelizePool {
  readonly size: number;
  readonly available: number;
  readonly waiting: number;
}

/** Returns how full both pools of this process are. */
export function poolCounts({
  money,
  sequelize,
}: Database): Readonly<Record<'money' | 'reports', PoolCounts>> {
  const { pool } = sequelize.connectionManager as unknown as { pool: SequelizePool };
  return {
    money: { total: money.totalCount, idle: money.idleCount, waiting: money.waitingCount },
    reports: { total: pool.size, idle: pool.available, waiting: pool.waiting },
  };
}

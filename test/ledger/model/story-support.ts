import { expect } from '@jest/globals';
import type pg from 'pg';
import { AppError } from '../../../src/lib/errors.ts';

/** Expects a value, or a rejection with that error code. */
export async function expectOutcome(outcome: Promise<unknown>, expected: unknown): Promise<void> {
  const told = await outcome.catch((error: unknown) => (error instanceof AppError ? error.code : error));
  expect(told).toEqual(expected);
}

export function pick<T>(items: readonly T[], index: number): T | undefined {
  return items.length === 0 ? undefined : items[index % items.length];
}

/** Sets the ledger's clock of the pool's only connection. */
export async function setClock(pool: pg.Pool, days: number): Promise<void> {
  await pool.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [`${days} days`]);
}

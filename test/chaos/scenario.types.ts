import type { ChaosServices } from './services.ts';

/** How hard a run tries. */
export interface ChaosEffort {
  /** The form for every change: fewer faults and shorter load, the same pass figures. */
  readonly isShort: boolean;
}

/** What a scenario saw. */
export interface ChaosFinding {
  /** The figures beside the ones asked for. */
  readonly measured: string;
  /** What missed its figure; empty: the row passes. */
  readonly failures: readonly string[];
  /** Why it was not run: a part that it needs is not to be had here. */
  readonly skipped?: string;
}

/** One row of the table: a fault, and what must still be true. */
export interface ChaosScenario {
  readonly id: string;
  readonly fault: string;
  /** The pass figure. */
  readonly asked: string;
  /** Whether the short form has it too. */
  readonly inShortForm: boolean;
  run(services: ChaosServices, effort: ChaosEffort): Promise<ChaosFinding>;
}

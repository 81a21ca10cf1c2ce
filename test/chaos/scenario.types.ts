import type { ChaosServices } from './services.ts';

/** The scale of a run. */
export interface ChaosEffort {
  /** The short form, which runs on every change: fewer faults and a shorter load, with the same pass figures. */
  readonly isShort: boolean;
}

/** The result of a scenario. */
export interface ChaosFinding {
  /** The measured figures. */
  readonly measured: string;
  /** What missed its figure; empty when the row passes. */
  readonly failures: readonly string[];
  /** Why it was not run: a part that it needs is not available here. */
  readonly skipped?: string;
}

/** One row of the table: a fault, and what must hold nevertheless. */
export interface ChaosScenario {
  readonly id: string;
  readonly fault: string;
  /** What must hold for the row to pass. */
  readonly asked: string;
  /** Whether the short form includes it. */
  readonly inShortForm: boolean;
  run(services: ChaosServices, effort: ChaosEffort): Promise<ChaosFinding>;
}

import type { EngineStatus } from '../../engines/engine.types.ts';

/** Records what a run reported until it ended. */
export class RecordedRun {
  /** Number of polls. */
  polls = 0;
  readonly #states: string[] = [];
  readonly #fractions: number[] = [];

  /** Records the answer to a poll; undefined for a failed poll. */
  polled(status: EngineStatus | undefined): void {
    this.polls += 1;
    if (status && this.#states.at(-1) !== status.state) {
      this.#states.push(status.state);
    }
    if (status?.progress !== undefined) {
      this.told(status.progress);
    }
  }

  /** Records progress that was pushed by the engine, 0 to 1. */
  told(fraction: number): void {
    this.#fractions.push(fraction);
  }

  /** The states, in the order they first appeared. */
  get states(): string {
    return this.#states.join(', ');
  }

  get progress(): string {
    const between = this.#fractions.filter((fraction) => fraction > 0 && fraction < 1);
    const [first] = between;
    const last = between.at(-1);
    return first === undefined || last === undefined
      ? 'no progress before the end'
      : `progress ${percent(first)} … ${percent(last)}`;
  }
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

import type { EngineStatus } from '../../engines/engine.types.ts';

/** What a run said of itself until its end. */
export class RecordedRun {
  /** How often it was asked. */
  polls = 0;
  readonly #states: string[] = [];
  readonly #fractions: number[] = [];

  /** Notes the answer to a poll; undefined for one that failed. */
  polled(status: EngineStatus | undefined): void {
    this.polls += 1;
    if (status && this.#states.at(-1) !== status.state) {
      this.#states.push(status.state);
    }
    if (status?.progress !== undefined) {
      this.told(status.progress);
    }
  }

  /** Notes progress that came by itself, 0 to 1. */
  told(fraction: number): void {
    this.#fractions.push(fraction);
  }

  /** In the order of their first time. */
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

import { maskKeys } from '../../lib/redaction.ts';

/** One test against a real system, and its result. */
export interface CheckStep {
  readonly step: string;
  readonly outcome: 'ok' | 'failed' | 'skipped';
  /** Duration in ms. */
  readonly ms: number;
  /** What was observed, in a few words. */
  readonly found: string;
  /** The system's own message, without keys; null if it had none. */
  readonly said: string | null;
}

/** Result of a test; plain text when there is no message of the system. */
export type CheckFinding = string | { readonly found: string; readonly said?: string | undefined };

/** Thrown when a test does not apply or cannot be answered. */
export class StepSkipped extends Error {
  override readonly name = 'StepSkipped';
}

/** Thrown when a result is not what it should be. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly said: string | undefined;

  constructor(found: string, said?: string) {
    super(found);
    this.said = said;
  }
}

const SAID_MAX = 2_000;

/**
 * Runs one test. Never rejects: whatever `ask` throws becomes the failure of the step, described by `explain` if it knows the
 * error.
 */
export async function askStep(
  step: string,
  ask: () => Promise<CheckFinding>,
  explain: (error: unknown) => StepFailed | undefined,
): Promise<CheckStep> {
  const beganAt = performance.now();
  const end = (outcome: CheckStep['outcome'], found: string, said: string | undefined): CheckStep => ({
    step,
    outcome,
    ms: Math.round(performance.now() - beganAt),
    found,
    said: said ? maskKeys(said.slice(0, SAID_MAX)) : null,
  });
  try {
    const finding = await ask();
    return typeof finding === 'string'
      ? end('ok', finding, undefined)
      : end('ok', finding.found, finding.said);
  } catch (error) {
    if (error instanceof StepSkipped) {
      return end('skipped', error.message, undefined);
    }
    const failed = error instanceof StepFailed ? error : explain(error);
    const message = error instanceof Error ? error.message : String(error);
    return end('failed', failed?.message ?? message, failed?.said);
  }
}

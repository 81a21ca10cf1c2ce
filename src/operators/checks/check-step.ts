import { maskKeys } from '../../lib/mask-keys.ts';

/** One question that a check asks of a real system, and what came of it. */
export interface CheckStep {
  readonly step: string;
  readonly outcome: 'ok' | 'failed' | 'skipped';
  /** Ms from the question to its answer. */
  readonly ms: number;
  /** What was seen, in a few words. */
  readonly found: string;
  /** The system's own words, without keys; null where it had none. */
  readonly said: string | null;
}

/** What a question found out: plain text where all is well. */
export type CheckFinding = string | { readonly found: string; readonly said?: string | undefined };

/** A question that need not be asked, or has no answer here. */
export class StepSkipped extends Error {
  override readonly name = 'StepSkipped';
}

/** An answer that is not what it should be. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly said: string | undefined;

  constructor(found: string, said?: string) {
    super(found);
    this.said = said;
  }
}

const SAID_MAX = 2_000;

/** Asks one question. Rejects never: what `ask` throws is the step's failure, told by `explain` where it knows the error. */
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

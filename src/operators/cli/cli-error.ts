/** Exit codes of `tollgate`. */
export const EXIT = { ok: 0, refused: 1, usage: 2 } as const;

/** A failure that is reported to the person at the terminal in one line. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.refused) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The service gave no answer that can be understood: what was asked may be done or not. */
export class NoAnswerError extends CliError {}

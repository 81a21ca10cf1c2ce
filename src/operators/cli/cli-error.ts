/** Exit codes of `tollgate`. */
export const EXIT = { ok: 0, refused: 1, usage: 2 } as const;

/** What a person at the terminal is told in one line. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.refused) {
    super(message);
    this.exitCode = exitCode;
  }
}

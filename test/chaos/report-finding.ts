import { pause } from './pause.ts';
import type { ChaosFinding } from './scenario.types.ts';

/** Time for the services of a row to close, in ms. */
const CLOSE_MS = 20_000;

/**
 * Runs a row, reports its finding, and only then closes its services. A row that throws has failed: it leaves processes and connections
 * behind, and closing what they still use may never finish. The caller exits, which ends the rest.
 */
export async function reportFinding(
  run: () => Promise<ChaosFinding>,
  closeServices: () => Promise<void>,
  tell: (finding: ChaosFinding) => Promise<void>,
  closeMs = CLOSE_MS,
): Promise<void> {
  const finding = await run().catch((error: unknown) => ({
    measured: 'it did not finish',
    failures: [reasonOf(error)],
  }));
  await tell(finding);
  await Promise.race([closeServices(), pause(closeMs)]);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${String(error.cause)})` : '';
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${text}${cause}`.replaceAll('\n', ' ');
}

import { pause } from './pause.ts';
import type { ChaosFinding } from './scenario.types.ts';

/** Ms for the services of a row to end by themselves. */
const CLOSE_MS = 20_000;

/**
 * Runs a row, tells its finding, and only then ends its services. A row that throws is one that fails: it leaves processes
 * and connections behind, and to end what they still use may take for ever. The caller exits, which ends the rest.
 */
export async function tellFinding(
  run: () => Promise<ChaosFinding>,
  closeServices: () => Promise<void>,
  tell: (finding: ChaosFinding) => Promise<void>,
  closeMs = CLOSE_MS,
): Promise<void> {
  const finding = await run().catch((error: unknown) => ({
    measured: 'it did not come to its end',
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

import type { ChaosFinding, ChaosScenario } from './scenario.types.ts';
import { SCENARIOS } from './scenarios.ts';
import { type ChaosServices, startChaosServices } from './services.ts';

/**
 * One row in a process and on services of its own, so that nothing of the rows before it is left: no grown heap of the load client, no
 * checkpoint of what they wrote. Arguments: id, folder of the compiled product, `short` or `full`; tells its finding to the parent.
 */
const [id, product, form] = process.argv.slice(2);
const scenario = SCENARIOS.find((known) => known.id === id);
if (scenario === undefined || product === undefined || process.send === undefined) {
  throw new Error('is started by run-scenarios.ts, with the id of a row and the folder of the product');
}
const services = await startChaosServices(process.env, product);
const finding = await findingOf(scenario, services, form === 'short');
await services.close();
// a row that was thrown out of leaves processes behind, which end with this one and would keep it
process.send(finding, () => process.exit());

/** A scenario that throws is a row that fails. */
async function findingOf(
  { run }: ChaosScenario,
  running: ChaosServices,
  isShort: boolean,
): Promise<ChaosFinding> {
  try {
    return await run(running, { isShort });
  } catch (error) {
    return { measured: 'it did not come to its end', failures: [reasonOf(error)] };
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${String(error.cause)})` : '';
  return `${error instanceof Error ? (error.stack ?? error.message) : String(error)}${cause}`.replaceAll(
    '\n',
    ' ',
  );
}

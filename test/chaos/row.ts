import { reportFinding } from './report-finding.ts';
import { SCENARIOS } from './scenarios.ts';
import { startChaosServices } from './services.ts';

/**
 * Runs one row in its own process on its own services, so that nothing of earlier rows remains: no grown heap of the load client, no
 * checkpoint of what they wrote. Arguments: id, folder of the compiled product, `short` or `full`. Sends its finding to the parent.
 */
const [id, product, form] = process.argv.slice(2);
const scenario = SCENARIOS.find((known) => known.id === id);
if (scenario === undefined || product === undefined || process.send === undefined) {
  throw new Error(
    'Do not start this directly: run-scenarios.ts starts it with the id of a row and the folder of the product',
  );
}
const services = await startChaosServices(process.env, product);
await reportFinding(
  () => scenario.run(services, { isShort: form === 'short' }),
  () => services.close(),
  (finding) => new Promise((resolve) => process.send?.(finding, () => resolve())),
);
// a row that threw leaves processes behind, which would keep this process alive but end with it
process.exit();

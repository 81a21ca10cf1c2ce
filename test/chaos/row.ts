import { SCENARIOS } from './scenarios.ts';
import { startChaosServices } from './services.ts';
import { tellFinding } from './tell-finding.ts';

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
await tellFinding(
  () => scenario.run(services, { isShort: form === 'short' }),
  () => services.close(),
  (finding) => new Promise((resolve) => process.send?.(finding, () => resolve())),
);
// a row that was thrown out of leaves processes behind, which end with this one and would keep it
process.exit();

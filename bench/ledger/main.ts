import { publishResult } from '../measure/result.ts';
import { measureCompared } from './compared.ts';
import { measureGrown, measureSustained } from './long-runs.ts';

/**
 * `npm run bench:ledger [-- --quick] [-- --sustained | --grown]`: reserve and settle per second compared with one transaction per request
 * in the same run. `--sustained` runs for five minutes; `--grown` measures before and after 20 million ledger rows (half an hour, 25 GB of
 * disk).
 */
const isQuick = process.argv.includes('--quick');
if (process.argv.includes('--sustained')) {
  publishResult(await measureSustained(isQuick));
} else if (process.argv.includes('--grown')) {
  publishResult(await measureGrown(isQuick));
} else {
  publishResult(await measureCompared(isQuick));
}

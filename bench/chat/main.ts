import { publishResult } from '../measure/result.ts';
import { measureBuilds } from './builds.ts';
import { measureComparison } from './comparison.ts';
import { measureProcesses } from './processes.ts';
import { profileApi } from './profile-api.ts';

/**
 * `npm run bench:chat [-- --quick] [-- --processes | --profile | --against=<tag or commit>]`: chat calls through the product, run as `npm
 * start` runs it, beside bare proxies, Portkey and the durable floor. `--processes` compares one, two and four API processes, `--against`
 * compares with an earlier build, and `--profile` shows where the API spends its time.
 */
const AGAINST = '--against=';
const isQuick = process.argv.includes('--quick');
const reference = process.argv.find((argument) => argument.startsWith(AGAINST))?.slice(AGAINST.length);
const onStep = (text: string) => process.stderr.write(`  ${text}\n`);
if (process.argv.includes('--profile')) {
  await profileApi(isQuick ? 5 : 40);
} else if (reference !== undefined) {
  publishResult(await measureBuilds(reference, isQuick, onStep));
} else if (process.argv.includes('--processes')) {
  publishResult(await measureProcesses(isQuick, onStep));
} else {
  publishResult(await measureComparison(isQuick, onStep));
}

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chaosReport, chaosTable, runScenarios } from './run-scenarios.ts';
import { SCENARIOS } from './scenarios.ts';

/**
 * `npm run chaos [-- --short] [-- --only=B1,D4]`: causes production failures on purpose, on the loopback address, and checks each against
 * its pass figure. Prints a table; exit code 1 when a row misses its figure. A full run writes docs/chaos.md.
 */
const REPORT = fileURLToPath(new URL('../../docs/chaos.md', import.meta.url));
const { argv } = process;
const isShort = argv.includes('--short');
const only = argv
  .find((argument) => argument.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',');
const unknown = argv.slice(2).filter((argument) => argument !== '--short' && !argument.startsWith('--only='));
const missing = only?.filter((id) => !SCENARIOS.some((scenario) => scenario.id === id)) ?? [];
if (unknown.length > 0 || missing.length > 0) {
  const known = SCENARIOS.map(({ id }) => id).join(',');
  process.stderr.write(
    `${[...unknown, ...missing].join(', ')}: not known. Options: --short, --only=${known}\n`,
  );
  process.exit(2);
}
const chosen = SCENARIOS.filter(({ id, inShortForm }) => only?.includes(id) ?? (!isShort || inShortForm));
const rows = await runScenarios(chosen, { isShort }, (line) => {
  process.stderr.write(`${line}\n`);
});
process.stdout.write(`${chaosTable(rows)}\n`);
if (!isShort && only === undefined) {
  writeFileSync(REPORT, chaosReport(rows));
}
process.exitCode = rows.every(({ finding }) => finding.failures.length === 0) ? 0 : 1;

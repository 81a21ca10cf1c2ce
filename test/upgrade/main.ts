import { machineFacts, markdownTable } from '../../bench/measure/table.ts';
import { startChaosServices } from '../chaos/services.ts';
import { NotInstalled } from '../clients/client-cache.ts';
import { presentBuild, previousBuild } from './previous-build.ts';
import { runUpgrade, type UpgradeReport } from './run-upgrade.ts';

/**
 * `npm run test:upgrade [-- <tag or commit>]`: upgrades an installation of the newest release, or of the given one, to this build under
 * load, and rolls it back. Prints a table; exit code 1 when a call failed or the books are wrong. A release that cannot be built is
 * reported and not tested.
 */
async function main(): Promise<number> {
  const [reference, ...others] = process.argv.slice(2);
  if (others.length > 0) {
    process.stderr.write('usage: npm run test:upgrade -- [tag or commit]\n');
    return 2;
  }
  const present = presentBuild();
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  tell('building the previous release …');
  const before = await previousBuild(reference, process.env);
  const services = await startChaosServices(process.env, present.folder);
  try {
    const report = await runUpgrade(services, { before, present }, tell);
    process.stdout.write(`${textOf(report)}\n`);
    return report.failures.length === 0 ? 0 : 1;
  } finally {
    await services.close();
  }
}

function textOf({ rows, facts, failures }: UpgradeReport): string {
  const table = [
    ['State', 'Seconds', 'Calls', 'Streams', 'Failed', 'p99'],
    ...rows.map(({ phase, seconds, calls, streams, failed, p99Ms }) => [
      phase,
      seconds.toFixed(0),
      String(calls),
      String(streams),
      String(failed),
      `${(p99Ms / 1_000).toFixed(1)} s`,
    ]),
  ];
  const verdict = failures.length === 0 ? ['ok'] : failures.map((failure) => `**no**: ${failure}`);
  return [machineFacts(), markdownTable(table), [...facts, ...verdict].join('\n')].join('\n\n');
}

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof NotInstalled) {
    process.stderr.write(`test:upgrade SKIPPED, nothing was upgraded: ${error.message}\n`);
    return 0;
  }
  throw error;
});
// a run that threw leaves processes behind, which would keep this process alive but end with it
process.exit();

import { machineFacts, markdownTable } from '../../bench/measure/table.ts';
import { COVERED } from './covered.ts';
import type { ChaosEffort, ChaosFinding, ChaosScenario } from './scenario.types.ts';
import { type ChaosServices, startChaosServices } from './services.ts';

export interface ChaosRow {
  readonly scenario: ChaosScenario;
  readonly finding: ChaosFinding;
  readonly seconds: number;
}

/** Runs the scenarios one after the other. A scenario that throws is a row that fails. */
export async function runScenarios(
  scenarios: readonly ChaosScenario[],
  effort: ChaosEffort,
  environment: NodeJS.ProcessEnv,
  onProgress: (line: string) => void,
): Promise<ChaosRow[]> {
  const services = await startChaosServices(environment);
  const rows: ChaosRow[] = [];
  try {
    for (const scenario of scenarios) {
      onProgress(`${scenario.id} ${scenario.fault} …`);
      const startedAt = performance.now();
      const finding = await findingOf(scenario, services, effort);
      const seconds = (performance.now() - startedAt) / 1_000;
      rows.push({ scenario, finding, seconds });
      const verdict = finding.failures.length === 0 ? 'ok' : 'FAILED';
      onProgress(`${scenario.id} ${verdict} after ${seconds.toFixed(0)} s: ${finding.measured}`);
      for (const failure of finding.failures.slice(0, FAILURES_SHOWN)) {
        onProgress(`   ${failure}`);
      }
    }
  } finally {
    await services.close();
  }
  return rows;
}

const FAILURES_SHOWN = 10;
const FAILURE_CHARACTERS = 300;

/** The table of a run, with what it was measured on. */
export function chaosTable(rows: readonly ChaosRow[]): string {
  const body = rows.map(({ scenario, finding, seconds }) => [
    scenario.id,
    scenario.fault,
    scenario.asked,
    finding.measured,
    finding.failures.length === 0 ? 'ok' : `**no**: ${finding.failures[0]?.slice(0, FAILURE_CHARACTERS)}`,
    `${seconds.toFixed(0)} s`,
  ]);
  const covered = COVERED.map(({ id, fault, asked, by }) => {
    const files = [...new Set(by.map(({ file }) => `\`${file}\``))];
    return [id, fault, asked, `covered by ${files.join(', ')}`, '', ''];
  });
  const head = ['Id', 'Fault', 'Asked', 'Measured', '', 'Time'];
  return `${machineFacts()}\n\n${markdownTable([head, ...body, ...covered])}`;
}

/** docs/chaos.md. */
export function chaosReport(rows: readonly ChaosRow[]): string {
  return `# Chaos

Written by \`npm run chaos\`. Real processes of the compiled product against Postgres with fsync on and a Redis without persistence, on
the loopback address of one machine; one process plays clients and providers. The load client writes down what it is told, and an
auditor that knows nothing of the product holds the books against it: a whole answer is charged as its usage says, an error not at all,
what broke at most once. Every row also asks for all invariants of the ledger and for no hold left open.

\`npm run chaos -- --only=B1,D4\` runs some rows; \`--short\` is the form that runs with every change: A1, A5 and B1 with fewer faults.

${chaosTable(rows)}
`;
}

async function findingOf(
  scenario: ChaosScenario,
  services: ChaosServices,
  effort: ChaosEffort,
): Promise<ChaosFinding> {
  services.upstream.reset();
  services.otherUpstream.reset();
  services.engine.reset();
  await services.flushRedis();
  try {
    return await scenario.run(services, effort);
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

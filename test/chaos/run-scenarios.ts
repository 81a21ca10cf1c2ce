import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { machineFacts, markdownTable } from '../../bench/measure/table.ts';
import { buildApplication } from '../deployment/built-application.ts';
import { COVERED } from './covered.ts';
import type { ChaosEffort, ChaosFinding, ChaosScenario } from './scenario.types.ts';

const ROW = fileURLToPath(new URL('./row.ts', import.meta.url));

export interface ChaosRow {
  readonly scenario: ChaosScenario;
  readonly finding: ChaosFinding;
  readonly seconds: number;
}

/** Runs the scenarios one after the other, each in its own process. */
export async function runScenarios(
  scenarios: readonly ChaosScenario[],
  effort: ChaosEffort,
  onProgress: (line: string) => void,
): Promise<ChaosRow[]> {
  const product = await buildApplication();
  const rows: ChaosRow[] = [];
  try {
    for (const scenario of scenarios) {
      onProgress(`${scenario.id} ${scenario.fault} …`);
      const startedAt = performance.now();
      const finding = await findingOf(scenario, product.folder, effort);
      const seconds = (performance.now() - startedAt) / 1_000;
      rows.push({ scenario, finding, seconds });
      const verdict =
        finding.skipped !== undefined ? 'SKIPPED' : finding.failures.length === 0 ? 'ok' : 'FAILED';
      onProgress(
        `${scenario.id} ${verdict} after ${seconds.toFixed(0)} s: ${finding.skipped ?? finding.measured}`,
      );
      for (const failure of finding.failures.slice(0, FAILURES_SHOWN)) {
        onProgress(`   ${failure}`);
      }
    }
  } finally {
    await product.remove();
  }
  return rows;
}

const FAILURES_SHOWN = 10;
const FAILURE_CHARACTERS = 300;

/** Returns the table of a run and the machine it ran on. */
export function chaosTable(rows: readonly ChaosRow[]): string {
  const body = rows.map(({ scenario, finding, seconds }) => [
    scenario.id,
    scenario.fault,
    scenario.asked,
    finding.skipped ?? finding.measured,
    verdictOf(finding),
    `${seconds.toFixed(0)} s`,
  ]);
  const covered = COVERED.map(({ id, fault, asked, by }) => {
    const files = [...new Set(by.map(({ file }) => `\`${file}\``))];
    return [id, fault, asked, `covered by ${files.join(', ')}`, '', ''];
  });
  const head = ['Id', 'Fault', 'Required', 'Measured', '', 'Time'];
  return `${machineFacts()}\n\n${markdownTable([head, ...body, ...covered])}`;
}

function verdictOf({ failures, skipped }: ChaosFinding): string {
  if (skipped !== undefined) {
    return '**not run**';
  }
  return failures.length === 0 ? 'ok' : `**no**: ${failures[0]?.slice(0, FAILURE_CHARACTERS)}`;
}

/** Returns the text of docs/chaos.md. */
export function chaosReport(rows: readonly ChaosRow[]): string {
  return `# Chaos

Written by \`npm run chaos\`. Real processes of the compiled product run against Postgres with fsync on and a Redis without persistence,
on the loopback address of one machine; one process simulates clients and providers. The load client records every answer, and an
auditor that knows nothing about the product compares the ledger with these records: a complete answer is charged as its usage says, an
error not at all, a broken call at most once. Every row also requires all invariants of the ledger to hold, and no hold left open.

\`npm run chaos -- --only=B1,D4\` runs selected rows; \`--short\` is the form for every change: A1, A5 and B1 with fewer faults.

${chaosTable(rows)}
`;
}

async function findingOf(
  { id }: ChaosScenario,
  product: string,
  { isShort }: ChaosEffort,
): Promise<ChaosFinding> {
  const row = fork(ROW, [id, product, isShort ? 'short' : 'full']);
  let finding: ChaosFinding | undefined;
  row.on('message', (told) => {
    finding = told as ChaosFinding;
  });
  const [code, signal] = await once(row, 'exit');
  const end = `the process of the row ended with ${String(signal ?? code)} and without a finding`;
  return finding ?? { measured: 'it did not finish', failures: [end] };
}

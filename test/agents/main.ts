import { markdownTable } from '../../bench/measure/table.ts';
import { rowsOf } from './agent-rows.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { AgentsNotInstalled, installAgents } from './installed-agents.ts';
import { startAgentStack } from './stack.ts';

/**
 * `npm run test:agents`: coding agents as npm ships them, run without a terminal against the compiled product and providers that play
 * models. Prints a table; exit code 1 when a row fails. Where npm cannot install them it says so and tests nothing.
 */
async function main(): Promise<number> {
  const installed = await installAgents(process.env);
  const agents = [claudeCode(installed.claude), codex(installed.codex)];
  const stack = await startAgentStack();
  const table: string[][] = [['Agent', 'Call', 'Seen', '']];
  let failures = 0;
  try {
    for (const row of agents.flatMap((agent) => rowsOf(agent, stack))) {
      const seen = await row.run().then(
        (text) => ({ text, verdict: 'ok' }),
        (error: unknown) => ({ text: String(error), verdict: '**no**' }),
      );
      failures += seen.verdict === 'ok' ? 0 : 1;
      table.push([row.agent, row.call, seen.text.replaceAll(/\s+/g, ' '), seen.verdict]);
    }
    const violations = await stack.violations();
    failures += violations.length;
    table.push([
      'Ledger',
      'every invariant',
      violations.join('; ') || 'holds',
      violations.length ? '**no**' : 'ok',
    ]);
  } finally {
    await stack.stop();
  }
  process.stdout.write(`${markdownTable(table)}\n`);
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof AgentsNotInstalled) {
    process.stderr.write(`test:agents SKIPPED, no agent was run: ${error.message}\n`);
    return 0;
  }
  throw error;
});

import { NotInstalled } from '../clients/client-cache.ts';
import { runRows } from '../clients/client-rows.ts';
import { rowsOf } from './agent-rows.ts';
import { claudeCode } from './claude-code.ts';
import { codexes, compactionRow } from './codex.ts';
import { installAgents } from './installed-agents.ts';
import { startAgentStack } from './stack.ts';

/**
 * `npm run test:agents`: runs coding agents as npm publishes them, without a terminal, against the compiled product and simulated models.
 * Prints a table; exit code 1 when a row fails. When npm cannot install them, it says so and tests nothing.
 */
async function main(): Promise<number> {
  const installed = await installAgents(process.env);
  const agents = [claudeCode(installed.claude), ...codexes(installed.codex)];
  const stack = await startAgentStack();
  try {
    const rows = [...agents.flatMap((agent) => rowsOf(agent, stack)), compactionRow(installed.codex, stack)];
    return (await runRows(rows, stack.violations)).wrong === 0 ? 0 : 1;
  } finally {
    await stack.stop();
  }
}

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof NotInstalled) {
    process.stderr.write(`test:agents SKIPPED, no agent ran: ${error.message}\n`);
    return 0;
  }
  throw error;
});

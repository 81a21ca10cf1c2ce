import type { Command } from 'commander';
import type { CliSurroundings } from '../../src/operators/cli/cli-context.ts';
import { createProgram } from '../../src/operators/cli/program.ts';

const HEAD = `# The command line

\`npm run generate\` writes this page from the commands themselves. \`tollgate\` stands for \`node dist/src/operators/cli/main.js\`; how to reach it
in a container or on a host: [install](../install.md#reach-the-operator-api). It uses the operator API at \`TOLLGATE_URL\` (default
\`http://localhost:8080\`) with the token in \`ADMIN_TOKEN\`, or in the file \`admin.token\` of \`DATA_DIR\`.

\`--json\` prints JSON for scripts. Exit codes: 0 done, 1 rejected, or an invariant is violated, 2 wrong usage. Put \`--\` before a negative amount:
\`tollgate adjust -d Fee acc_… -- -2.50\`.

| command | what it does | options |
|---|---|---|
`;

/** Returns every command of `tollgate` as a page of the docs. */
export function cliReference(): string {
  // nothing is run: the commands are only read
  const program = createProgram(undefined as unknown as CliSurroundings);
  const rows = leavesOf(program).map(({ path, command }) => {
    const words = command.registeredArguments.map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? `<${name}>` : `[${name}]`;
    });
    const options = command.options.map((option) => `\`${option.flags}\` ${option.description}`);
    return [`\`${[...path, ...words].join(' ')}\``, command.description(), options.join('; ')];
  });
  const table = rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  return `${HEAD}${table.join('\n')}\n`;
}

function leavesOf(
  command: Command,
  path: readonly string[] = [],
): { path: readonly string[]; command: Command }[] {
  return command.commands.length === 0
    ? [{ path, command }]
    : command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

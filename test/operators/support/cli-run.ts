import type { CliSurroundings } from '../../../src/operators/cli/cli-context.ts';
import { runCli } from '../../../src/operators/cli/program.ts';

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `tollgate` with these arguments in this process. */
export async function cliRun(
  environment: NodeJS.ProcessEnv,
  args: readonly string[],
  ask?: CliSurroundings['ask'],
): Promise<CliRun> {
  let [stdout, stderr] = ['', ''];
  const code = await runCli(args, {
    environment,
    ask,
    stdout: {
      write: (text) => {
        stdout += text;
      },
    },
    stderr: {
      isTTY: false,
      write: (text) => {
        stderr += text;
      },
    },
  });
  return { code, stdout, stderr };
}

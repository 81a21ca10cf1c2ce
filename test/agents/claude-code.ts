import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenTotals } from '../clients/client-stack.ts';
import { snippetsOf } from '../clients/page-program.ts';
import { runProgram } from '../clients/run-program.ts';
import type { Agent } from './agent.types.ts';

interface ResultLine {
  readonly result: string;
  readonly is_error: boolean;
  readonly modelUsage: Readonly<
    Record<
      string,
      {
        readonly inputTokens: number;
        readonly outputTokens: number;
        readonly cacheReadInputTokens: number;
        readonly cacheCreationInputTokens: number;
      }
    >
  >;
}

/** Returns Claude Code, which speaks Anthropic's messages. */
export function claudeCode(program: string): Agent {
  return {
    name: 'Claude Code',
    async run({ url, key, model, prompt, folder, input }) {
      const output = ['-p', prompt, '--output-format', 'json'];
      const [line] = await runProgram<ResultLine>({
        program,
        args: [...output, '--permission-mode', 'acceptEdits', '--allowedTools', 'Read,Edit'],
        folder,
        environment: {
          HOME: mkdtempSync(join(folder, 'home-')),
          ...settingsOf(url, key, model),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        },
        input,
      });
      const result = line as ResultLine;
      return { text: result.result, failed: result.is_error, usage: totalsOf(result) };
    },
  };
}

/** Returns the variables from the guide, for this address, key and model. */
function settingsOf(url: string, key: string, model: string): NodeJS.ProcessEnv {
  const [settings = ''] = snippetsOf('agents.md', 'sh');
  const lines = settings
    .replace('https://tollgate.example.com', url)
    .replace('sk-tg-v1-…', key)
    .replaceAll('acme/coder', model);
  return Object.fromEntries(
    [...lines.matchAll(/^export (\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  );
}

/** Returns its own sums over all models it called. Anthropic's `input_tokens` does not include cached tokens. */
function totalsOf({ modelUsage }: ResultLine): TokenTotals {
  const totals = { input: 0, output: 0, cacheRead: 0 };
  for (const model of Object.values(modelUsage)) {
    totals.input += model.inputTokens + model.cacheReadInputTokens + model.cacheCreationInputTokens;
    totals.output += model.outputTokens;
    totals.cacheRead += model.cacheReadInputTokens;
  }
  return totals;
}

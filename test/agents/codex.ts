import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snippetsOf } from '../clients/page-program.ts';
import { runProgram } from '../clients/run-program.ts';
import type { Agent, AgentEnd } from './agent.types.ts';

interface EventLine {
  readonly type: string;
  readonly item?: { readonly type: string; readonly text?: string };
  readonly error?: { readonly message: string };
  readonly usage?: {
    readonly input_tokens: number;
    readonly cached_input_tokens: number;
    readonly output_tokens: number;
  };
}

/** Returns Codex CLI, which speaks only OpenAI's Responses. */
export function codex(program: string): Agent {
  return {
    name: 'Codex CLI',
    async run({ url, key, model, prompt, folder, input }) {
      const home = mkdtempSync(join(folder, 'home-'));
      writeFileSync(join(home, 'config.toml'), settingsOf(url, model));
      const lines = await runProgram<EventLine>({
        program,
        // without its own sandbox, which needs rights that a container does not grant
        args: [
          ...['exec', '--json', '--skip-git-repo-check'],
          ...['--dangerously-bypass-approvals-and-sandbox', prompt],
        ],
        folder,
        environment: { HOME: home, CODEX_HOME: home, TOLLGATE_API_KEY: key },
        input,
      });
      return endOf(lines);
    },
  };
}

/** Returns the settings from the guide, for this address and model. */
function settingsOf(url: string, model: string): string {
  const [settings = ''] = snippetsOf('agents.md', 'toml');
  return settings.replaceAll('https://tollgate.example.com', url).replaceAll('acme/coder', model);
}

function endOf(lines: readonly EventLine[]): AgentEnd {
  const failure = lines.find(({ type }) => type === 'turn.failed')?.error?.message;
  const answer = lines.findLast(({ item }) => item?.type === 'agent_message')?.item?.text;
  const usage = lines.find(({ type }) => type === 'turn.completed')?.usage;
  return {
    text: failure ?? answer ?? '',
    failed: failure !== undefined,
    usage: {
      input: usage?.input_tokens ?? 0,
      output: usage?.output_tokens ?? 0,
      cacheRead: usage?.cached_input_tokens ?? 0,
    },
  };
}

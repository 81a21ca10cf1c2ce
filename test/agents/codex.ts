import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientRow } from '../clients/client-rows.ts';
import { snippetsOf } from '../clients/page-program.ts';
import { runProgram } from '../clients/run-program.ts';
import type { Agent, AgentEnd } from './agent.types.ts';
import { FINAL_WORDS } from './scripted-turn.ts';
import { type AgentStack, MODELS } from './stack.ts';

const NAME = 'Codex CLI';

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

/** Returns Codex CLI, which speaks only OpenAI's Responses: with a provider of its own over HTTP, with OpenAI's over a WebSocket. */
export function codexes(program: string): Agent[] {
  const ways = [
    { name: NAME, place: 0, variable: 'TOLLGATE_API_KEY' },
    { name: `${NAME}, WebSocket`, place: 1, variable: 'CODEX_API_KEY' },
  ];
  return ways.map(({ name, place, variable }) => ({
    name,
    async run({ url, key, model, prompt, folder, input }) {
      const home = homeWith(settingsOf(url, model, place), folder);
      const environment = { HOME: home, CODEX_HOME: home, [variable]: key };
      return endOf(await execute(program, [prompt], { folder, environment, input }));
    },
  }));
}

/** Returns the check that Codex continues a conversation that it had compacted by the API, as it does with its own provider. */
export function compactionRow(program: string, stack: AgentStack): ClientRow {
  return {
    client: NAME,
    call: 'a conversation that is compacted, with its own provider',
    async run() {
      const key = await stack.openAccount('10');
      const folder = mkdtempSync(join(stack.folder, 'compaction-'));
      const home = homeWith(settingsOf(stack.url, MODELS.openai, 1), folder);
      const run = { folder, environment: { HOME: home, CODEX_HOME: home, CODEX_API_KEY: key } };
      const first = endOf(await execute(program, ['Say hi'], run));
      assert.deepEqual([first.failed, first.text], [false, FINAL_WORDS]);
      const limit = ['-c', `model_auto_compact_token_limit=${COMPACTED_TOKENS}`];
      const before = stack.upstreams.openai.requests.length;
      const second = endOf(await execute(program, ['resume', '--last', ...limit, 'Go on'], run));
      assert.deepEqual([second.failed, second.text], [false, FINAL_WORDS]);
      const sent = stack.upstreams.openai.requests
        .slice(before)
        .map(({ body }) => JSON.stringify(body.messages));
      assert.match(sent[0] ?? '', /Say hi.*Write the summary/s);
      assert.match(sent[1] ?? '', new RegExp(`summary of it:.*${FINAL_WORDS}.*Go on`, 's'));
      assert.equal(sent.length, 2);
      return 'one call for the summary, one with it';
    },
  };
}

/** Less than a first request of Codex has, in tokens. */
const COMPACTED_TOKENS = 3_000;

interface CodexRun {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly input?: string | undefined;
}

function execute(program: string, args: readonly string[], run: CodexRun): Promise<EventLine[]> {
  // without its own sandbox, which needs rights that a container does not grant
  const always = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  return runProgram<EventLine>({ program, args: ['exec', ...always, ...args], ...run });
}

function homeWith(settings: string, folder: string): string {
  const home = mkdtempSync(join(folder, 'home-'));
  writeFileSync(join(home, 'config.toml'), settings);
  return home;
}

/** Returns the settings from a place of the guide, for this address and model. */
function settingsOf(url: string, model: string, place: number): string {
  const settings = snippetsOf('agents.md', 'toml')[place] ?? '';
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

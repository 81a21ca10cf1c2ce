import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientRow } from '../clients/client-rows.ts';
import type { TokenTotals } from '../clients/client-stack.ts';
import type { Agent, AgentEnd, AgentRun } from './agent.types.ts';
import { SEALED_THOUGHT } from './scripted-responses.ts';
import { CORRECT, FINAL_WORDS, MISSPELT } from './scripted-turn.ts';
import { type AgentStack, MODELS } from './stack.ts';

type Protocol = keyof typeof MODELS;

const PROTOCOLS = ['openai', 'anthropic', 'responses'] as const;
/** Below and above the context of the models, in words of about one token. Codex accepts a million characters of input. */
const LONG_WORDS = 100_000;
const TOO_LONG_WORDS = 260_000;
const WORD = 'bit ';
/** Three tool calls and the final answer. */
const TASK_REQUESTS = 4;

/** Returns the checks of every agent, over providers of each protocol. */
export function rowsOf(agent: Agent, stack: AgentStack): ClientRow[] {
  const row = (call: string, run: ClientRow['run']): ClientRow => ({ client: agent.name, call, run });
  const refused = async (choice: Partial<AgentRun>, words: RegExp) => {
    const end = await ask(agent, stack, { key: await stack.openAccount('10'), ...choice });
    assert.equal(end.failed, true, end.text);
    assert.match(end.text, words);
    return end.text;
  };
  return [
    ...PROTOCOLS.flatMap((protocol) => [
      row(`reads, edits and reads a file over ${protocol}`, () => task(agent, stack, protocol)),
      row(`a long history over ${protocol}`, () => longHistory(agent, stack, protocol)),
    ]),
    row('a history beyond the context', () =>
      refused({ input: WORD.repeat(TOO_LONG_WORDS) }, /^Prompt is too long|ran out of room/),
    ),
    row('a wrong key', () => refused({ key: 'sk-tg-v1-wrong' }, /401.*API key/)),
    row('no credits', async () => refused({ key: await stack.openAccount('0') }, /402.*credits/)),
    row('a model that does not exist', () => refused({ model: 'acme/codr' }, /acme\/codr/)),
  ];
}

async function task(agent: Agent, stack: AgentStack, protocol: Protocol): Promise<string> {
  const key = await stack.openAccount('10');
  const folder = workFolder(stack);
  const path = join(folder, 'notes.txt');
  writeFileSync(path, `${MISSPELT} cat sat\n`);
  const before = stack.upstreams[protocol].requests.length;
  const prompt = `Correct the spelling in ${path}`;
  const end = await ask(agent, stack, { key, model: MODELS[protocol], folder, prompt });
  assert.deepEqual([end.failed, end.text], [false, FINAL_WORDS]);
  assert.equal(readFileSync(path, 'utf8'), `${CORRECT} cat sat\n`);
  const { requests, last } = stack.upstreams[protocol];
  assert.equal(requests.length - before, TASK_REQUESTS);
  if (protocol === 'responses') {
    const returned = JSON.stringify(last.body.input).split(SEALED_THOUGHT).length - 1;
    assert.equal(returned, TASK_REQUESTS - 1, 'reasoning returned by the agent');
  }
  return await agreedUsage(stack, key, end.usage);
}

async function longHistory(agent: Agent, stack: AgentStack, protocol: Protocol): Promise<string> {
  const key = await stack.openAccount('10');
  const end = await ask(agent, stack, { key, model: MODELS[protocol], input: WORD.repeat(LONG_WORDS) });
  assert.deepEqual([end.failed, end.text], [false, FINAL_WORDS]);
  return await agreedUsage(stack, key, end.usage);
}

function ask(
  agent: Agent,
  stack: AgentStack,
  choice: Partial<AgentRun> & { key: string },
): Promise<AgentEnd> {
  const folder = choice.folder ?? workFolder(stack);
  return agent.run({ url: stack.url, model: MODELS.openai, prompt: 'Say hi', ...choice, folder });
}

/** Checks that the client's own sums equal the metered usage of the account. */
async function agreedUsage(stack: AgentStack, key: string, shown: TokenTotals): Promise<string> {
  assert.deepEqual(shown, await stack.metered(key));
  return `${shown.input} + ${shown.output} tokens, ${shown.cacheRead} cached: the client's sums and ours`;
}

function workFolder({ folder }: AgentStack): string {
  mkdirSync(join(folder, 'work'), { recursive: true });
  return mkdtempSync(join(folder, 'work', 'row-'));
}

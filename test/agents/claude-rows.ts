import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentRow, AgentRowContext } from './agent-row.types.ts';
import { type ClaudeEnd, runClaude } from './claude-code.ts';
import { CORRECT, FINAL_WORDS, MISSPELT } from './scripted-model.ts';
import { MODELS } from './stack.ts';
import type { TokenTotals } from './token-totals.types.ts';

const PROTOCOLS = ['openai', 'anthropic'] as const;
/** Far below and far above the context of the models, in words of about one token. */
const LONG_WORDS = 100_000;
const TOO_LONG_WORDS = 260_000;

/** Three calls of tools and the end. */
const TASK_REQUESTS = 4;

/** Claude Code over a provider of either protocol, and what it tells its user when something is wrong. */
export const CLAUDE_ROWS: readonly AgentRow[] = [
  ...PROTOCOLS.flatMap((protocol) => [
    row(`reads, edits and reads a file over ${protocol}`, (context) => task(context, protocol)),
    row(`a long history over ${protocol}`, (context) => longHistory(context, protocol)),
  ]),
  row('a history beyond the context', tooLong),
  row('a wrong key', (context) => refused(context, { key: 'sk-tg-v1-wrong' }, 401, /API key/)),
  row('no credits', noCredits),
  row('a model that does not exist', (context) =>
    refused(context, { model: 'acme/codr' }, 404, /acme\/codr/),
  ),
];

function row(call: string, run: AgentRow['run']): AgentRow {
  return { agent: 'Claude Code', call, run };
}

async function task(context: AgentRowContext, protocol: keyof typeof MODELS): Promise<string> {
  const { stack } = context;
  const { key } = await stack.openAccount('10');
  const folder = workFolder(context);
  const path = join(folder, 'notes.txt');
  writeFileSync(path, `${MISSPELT} cat sat\n`);
  const requests = stack.upstreams[protocol].requests.length;
  const prompt = `Correct the spelling in ${path}`;
  const end = await ask(context, { key, model: MODELS[protocol], folder, prompt });
  assert.deepEqual([end.failed, end.text], [false, FINAL_WORDS]);
  assert.equal(readFileSync(path, 'utf8'), `${CORRECT} cat sat\n`);
  assert.equal(stack.upstreams[protocol].requests.length - requests, TASK_REQUESTS);
  return await agreedUsage(context, key, end.usage);
}

async function longHistory(context: AgentRowContext, protocol: keyof typeof MODELS): Promise<string> {
  const { key } = await context.stack.openAccount('10');
  const input = 'word '.repeat(LONG_WORDS);
  const end = await ask(context, { key, model: MODELS[protocol], input });
  assert.deepEqual([end.failed, end.text], [false, FINAL_WORDS]);
  return await agreedUsage(context, key, end.usage);
}

async function tooLong(context: AgentRowContext): Promise<string> {
  const { key } = await context.stack.openAccount('10');
  const end = await ask(context, { key, input: 'word '.repeat(TOO_LONG_WORDS) });
  assert.match(end.text, /^Prompt is too long/);
  return end.text;
}

async function noCredits(context: AgentRowContext): Promise<string> {
  const { key } = await context.stack.openAccount('0');
  return await refused(context, { key }, 402, /credits/);
}

async function refused(
  context: AgentRowContext,
  choice: { key?: string; model?: string },
  status: number,
  words: RegExp,
): Promise<string> {
  const key = choice.key ?? (await context.stack.openAccount('10')).key;
  const end = await ask(context, { ...choice, key });
  assert.deepEqual([end.failed, end.status], [true, status], end.text);
  assert.match(end.text, words);
  return end.text;
}

function ask(
  context: AgentRowContext,
  choice: { key: string; model?: string; folder?: string; prompt?: string; input?: string },
): Promise<ClaudeEnd> {
  const { stack, agents } = context;
  const folder = choice.folder ?? workFolder(context);
  const plain = { url: stack.url, model: MODELS.openai, prompt: 'Say hi', folder };
  return runClaude(agents.claude, { ...plain, ...choice, folder });
}

/** The client's own sums equal what the account was metered and charged for. */
async function agreedUsage({ stack }: AgentRowContext, key: string, shown: TokenTotals): Promise<string> {
  assert.deepEqual(shown, await stack.metered(key));
  return `${shown.input} + ${shown.output} tokens, ${shown.cacheRead} cached: the client's sums and ours`;
}

function workFolder({ stack }: AgentRowContext): string {
  mkdirSync(join(stack.folder, 'work'), { recursive: true });
  return mkdtempSync(join(stack.folder, 'work', 'row-'));
}

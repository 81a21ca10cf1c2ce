import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenTotals } from './token-totals.types.ts';

const TIMEOUT_MS = 60_000;

export interface ClaudeRun {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  /** Where it works, and below which its own files stand. */
  readonly folder: string;
  /** What is piped into it, as a file would be. */
  readonly input?: string;
}

/** What it says at the end of a headless run. */
export interface ClaudeEnd {
  readonly text: string;
  readonly failed: boolean;
  readonly status: number | null;
  readonly usage: TokenTotals;
}

interface ResultLine {
  readonly result: string;
  readonly is_error: boolean;
  readonly api_error_status: number | null;
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

/** Runs Claude Code without a terminal. Throws when it does not end by itself or says nothing readable. */
export async function runClaude(program: string, run: ClaudeRun): Promise<ClaudeEnd> {
  const child = spawn(
    program,
    [
      ...['-p', run.prompt, '--output-format', 'json'],
      ...['--permission-mode', 'acceptEdits', '--allowedTools', 'Read,Edit'],
    ],
    {
      cwd: run.folder,
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      env: {
        PATH: process.env.PATH,
        HOME: mkdtempSync(join(run.folder, 'home-')),
        ANTHROPIC_BASE_URL: run.url,
        ANTHROPIC_AUTH_TOKEN: run.key,
        ANTHROPIC_MODEL: run.model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: run.model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    },
  );
  let said = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  child.stdin.end(run.input ?? '');
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const line = said.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) {
    throw new Error(`Claude Code ended without a result: ${said}${complaint}`.slice(0, 500));
  }
  const result = JSON.parse(line) as ResultLine;
  return {
    text: result.result,
    failed: result.is_error,
    status: result.api_error_status,
    usage: totalsOf(result),
  };
}

/** Its own sums over all models it asked; Anthropic's `input_tokens` leaves out what the cache served. */
function totalsOf({ modelUsage }: ResultLine): TokenTotals {
  const totals = { input: 0, output: 0, cacheRead: 0 };
  for (const model of Object.values(modelUsage)) {
    totals.input += model.inputTokens + model.cacheReadInputTokens + model.cacheCreationInputTokens;
    totals.output += model.outputTokens;
    totals.cacheRead += model.cacheReadInputTokens;
  }
  return totals;
}

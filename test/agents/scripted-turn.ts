import type { UpstreamRequest } from '../factories/upstream-server.ts';

/** The model's next step: an answer, or a call of one of the agent's tools. */
export type Turn =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly input: object; readonly id: string };

/** The misspelled word of the task, and its correction. */
export const MISSPELT = 'teh';
export const CORRECT = 'the';
export const FINAL_WORDS = 'The file is corrected.';

/** The parts of a request that the script uses, whatever its dialect. */
export interface Seen {
  readonly tools: readonly string[];
  /** All messages, as text. */
  readonly said: string;
  readonly toolResults: number;
}

/** Characters per token of this model. */
const CHARACTERS_PER_TOKEN = 4;
/** Share of the input that the model with a cache reports as cached. */
export const CACHED_SHARE = 0.25;

export function nextTurn({ tools, said, toolResults }: Seen): Turn {
  const path = /\/[^\s"'\\`]+\/notes\.txt/.exec(said)?.[0];
  const steps = path === undefined ? [] : stepsWith(tools, path);
  const step = steps[toolResults];
  return step
    ? { kind: 'call', id: `call_${toolResults + 1}`, ...step }
    : { kind: 'text', text: FINAL_WORDS };
}

function stepsWith(tools: readonly string[], path: string): { tool: string; input: object }[] {
  if (tools.includes('Read') && tools.includes('Edit')) {
    const edit = { file_path: path, old_string: MISSPELT, new_string: CORRECT };
    return [
      { tool: 'Read', input: { file_path: path } },
      { tool: 'Edit', input: edit },
      { tool: 'Read', input: { file_path: path } },
    ];
  }
  if (tools.includes('exec_command')) {
    const commands = [`cat ${path}`, `sed -i s/${MISSPELT}/${CORRECT}/ ${path}`, `cat ${path}`];
    return commands.map((cmd) => ({ tool: 'exec_command', input: { cmd } }));
  }
  return [];
}

export function tokensOf(body: UpstreamRequest['body']): number {
  const { messages, system, instructions, input, tools } = body;
  const said = JSON.stringify([messages, system, instructions, input, tools]);
  return Math.ceil(said.length / CHARACTERS_PER_TOKEN);
}

export function outputTokensOf(turn: Turn): number {
  const text = turn.kind === 'text' ? turn.text : JSON.stringify(turn.input);
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

export function textOf(turn: Turn): string {
  return turn.kind === 'text' ? turn.text : '';
}

export function event(body: { type: string; [member: string]: unknown }): string {
  return `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
}

/** A bug in reading providers, found here or elsewhere. The replay table must catch each. */
export interface ProviderMutant {
  readonly name: string;
  /** A source file, the required text and its replacement. */
  readonly of: string;
  readonly replace: string;
  readonly by: string;
  /** The row of the replay table that fails. */
  readonly caughtBy: string;
}

export const PROVIDER_MUTANTS: readonly ProviderMutant[] = [
  {
    name: "index: a call gets the provider's number",
    of: 'src/providers/chat-tool-calls.ts',
    replace: 'call.index = this.#started;',
    by: 'call.index = [...this.#byGivenIndex].find(([, known]) => known === call)?.[0] ?? 0;',
    caughtBy: 'parallel calls, all with index 0',
  },
  {
    name: 'index: entries with a known number are the same call',
    of: 'src/providers/chat-tool-calls.ts',
    replace: "if (name === '' || name === numbered.name || numbered.name === '') {",
    by: 'if (true) {',
    caughtBy: 'parallel calls, all with index 0, without ids',
  },
  {
    name: 'end mark: the word ends the stream wherever it is',
    of: 'src/providers/messages-reader.ts',
    replace: 'switch (event.type ?? name) {',
    by: `switch (JSON.stringify(event).includes('"message_stop"') ? 'message_stop' : event.type) {`,
    caughtBy: 'a tool named message_stop',
  },
  {
    name: 'end mark: [DONE] is matched to the letter',
    of: 'src/providers/stream-reading.ts',
    replace: "data.trim() === '[DONE]'",
    by: "data === '[DONE]'",
    caughtBy: 'no finish_reason, only [DONE] with a space',
  },
  {
    name: 'end mark: half an answer counts as a whole one',
    of: 'src/providers/stream-reading.ts',
    replace: "throw new ProviderFailure(reader.isEnded() ? 'malformed' : 'interrupted');",
    by: '',
    caughtBy: 'neither finish_reason nor [DONE]',
  },
  {
    name: 'total: tokens beyond prompt and completion are not billed',
    of: 'src/providers/usage-reading.ts',
    replace: '(total ?? 0) - inputTokens - outputTokens',
    by: '0',
    caughtBy: 'completion_tokens without thinking, usage in every chunk',
  },
  {
    name: 'zero report: a later, smaller report wins',
    of: 'src/providers/usage-reading.ts',
    replace: 'if (!earlier) {\n    return later;',
    by: 'if (true) {\n    return later;',
    caughtBy: 'a later, smaller report',
  },
  {
    name: 'zero report: a later, smaller report of Anthropic wins',
    of: 'src/providers/usage-reading.ts',
    replace: 'count >= firstCount(earlier[name])',
    by: 'true',
    caughtBy: 'a last report of zeros',
  },
  {
    name: 'cut: our own count ends the stream at the cap',
    of: 'src/invocation/alternatives.ts',
    replace: 'const CAP_TOLERANCE = 4;',
    by: 'const CAP_TOLERANCE = 1;',
    caughtBy: 'a short answer whose count by our tokenizer exceeds the cap',
  },
  {
    name: 'cut: the charge exceeds the cap',
    of: 'src/invocation/usage-judgment.ts',
    replace: 'Math.min(evidence.outputTokens(), evidence.outputMax)',
    by: 'evidence.outputTokens()',
    caughtBy: 'an event of 1 MB with a cap of 1,000 tokens',
  },
  {
    name: 'a finish of stop after calls is kept',
    of: 'src/providers/finish-reasons.ts',
    replace: "if (called && reason === 'stop') {",
    by: 'if (false) {',
    caughtBy: 'a tool call that ends with stop',
  },
  {
    name: 'arguments as an object are lost',
    of: 'src/providers/chat-tool-calls.ts',
    replace: "return value === undefined || value === null ? '' : JSON.stringify(value);",
    by: "return '';",
    caughtBy: 'arguments as an object',
  },
  {
    name: 'end mark: [DONE] ends a response',
    of: 'src/providers/responses-reader.ts',
    replace: 'done(): void {}',
    by: 'done(): void { this.#chat.done(); }',
    caughtBy: 'responses: [DONE] is not an end',
  },
  {
    name: 'a response: streamed text is repeated by the whole item',
    of: 'src/providers/output-deltas.ts',
    replace: "return whole.startsWith(sent) ? whole.slice(sent.length) : '';",
    by: 'return whole;',
    caughtBy: 'responses: exact to the protocol',
  },
  {
    name: 'a response: content that comes only in the whole response is lost',
    of: 'src/providers/responses-reader.ts',
    replace: 'this.#say(outputOf(response, this.#output), parts);',
    by: '',
    caughtBy: 'responses: everything only in the last event',
  },
  {
    name: 'a finish reason is read without the filter before it',
    of: 'src/providers/finish-reasons.ts',
    replace: 'for (const name of [word, cause, filter]) {',
    by: 'for (const name of [word]) {',
    caughtBy: 'a prompt that the filter stopped: no delta',
  },
  {
    name: 'cache writes among the details are not billed as such',
    of: 'src/providers/usage-reading.ts',
    replace: 'promptDetails.cache_creation_input_tokens,',
    by: '',
    caughtBy: 'cache writes among the details of the prompt, JSON',
  },
];

import type { TokenTotals } from '../clients/client-stack.ts';

export interface AgentRun {
  /** Of the product, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  /** Where it works, and below which its own files stand. */
  readonly folder: string;
  /** What is piped into it, as a file would be. */
  readonly input?: string | undefined;
}

/** What an agent says at the end of a run without a terminal. */
export interface AgentEnd {
  /** The answer, or what it tells its user went wrong. */
  readonly text: string;
  readonly failed: boolean;
  readonly usage: TokenTotals;
}

/** One agent as npm ships it. `run` throws when it does not end by itself or says nothing readable. */
export interface Agent {
  readonly name: string;
  /** Whether it gives encrypted reasoning back with a tool's result. */
  readonly returnsReasoning: boolean;
  run(run: AgentRun): Promise<AgentEnd>;
}

import type { TokenTotals } from '../clients/client-stack.ts';

export interface AgentRun {
  /** URL of the product, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  /** Its working folder, below which it keeps its own files. */
  readonly folder: string;
  /** Standard input, as if piped from a file. */
  readonly input?: string | undefined;
}

/** The result that an agent reports at the end of a run without a terminal. */
export interface AgentEnd {
  /** The answer, or the error it reports to its user. */
  readonly text: string;
  readonly failed: boolean;
  readonly usage: TokenTotals;
}

/** An agent as npm publishes it. `run` throws when the agent does not end by itself or prints nothing parsable. */
export interface Agent {
  readonly name: string;
  run(run: AgentRun): Promise<AgentEnd>;
}

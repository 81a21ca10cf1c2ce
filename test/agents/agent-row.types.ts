import type { InstalledAgents } from './installed-agents.ts';
import type { AgentStack } from './stack.ts';

export interface AgentRowContext {
  readonly stack: AgentStack;
  readonly agents: InstalledAgents;
}

/** One thing that an agent must do, or be told. */
export interface AgentRow {
  readonly agent: string;
  readonly call: string;
  /** What was seen, for the table. Throws with what is wrong. */
  run(context: AgentRowContext): Promise<string>;
}

/** The states of a task. The database enforces the same names; every change is one guarded UPDATE. */
export const TASK_STATES = [
  'queued',
  'generating',
  'generated',
  'processing',
  'succeeded',
  'failed',
  'canceled',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const TERMINAL_STATES = ['succeeded', 'failed', 'canceled'] as const satisfies readonly TaskState[];
export const LIVE_STATES = [
  'queued',
  'generating',
  'generated',
  'processing',
] as const satisfies readonly TaskState[];
/** States in which a worker holds the lease and works on the task. */
export const LEASED_STATES = ['generating', 'processing'] as const satisfies readonly TaskState[];
export type LeasedState = (typeof LEASED_STATES)[number];

/** All allowed changes. An expired or returned lease goes one step back; nothing leaves a terminal state. */
export const TRANSITIONS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  queued: ['generating', 'failed', 'canceled'],
  // Straight to success: an image that was finished in the process that generated it.
  generating: ['generated', 'succeeded', 'queued', 'failed', 'canceled'],
  generated: ['processing', 'failed', 'canceled'],
  // Back to the beginning: its file is broken, and its engine makes another for free.
  processing: ['succeeded', 'generated', 'queued', 'failed', 'canceled'],
  succeeded: [],
  failed: [],
  canceled: [],
};

/** Returns whether a task may change from one state to the other. */
export function canMove(from: TaskState, to: TaskState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** Returns whether the task has ended for good. */
export function isTerminal(state: TaskState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** Returns the states from which a task may end that way. */
export function statesBefore(ending: (typeof TERMINAL_STATES)[number]): TaskState[] {
  return LIVE_STATES.filter((state) => canMove(state, ending));
}

/** Returns the state in which a task waits for its next worker when the last one is gone. */
export function stateAfterLapse(state: LeasedState): TaskState {
  return state === 'generating' ? 'queued' : 'generated';
}

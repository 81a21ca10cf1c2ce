import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  canMove,
  isTerminal,
  LEASED_STATES,
  stateAfterLapse,
  statesBefore,
  TASK_STATES,
  type TaskState,
  TERMINAL_STATES,
  TRANSITIONS,
} from './task-state.ts';

const anyState = fc.constantFrom(...TASK_STATES);

test('whatever happens to a task, it ends at most once and never changes after', () => {
  fc.assert(
    fc.property(fc.array(anyState, { maxLength: 60 }), (wishes) => {
      let state: TaskState = 'queued';
      let ends = 0;
      for (const wish of wishes) {
        const wasOver = isTerminal(state);
        if (canMove(state, wish)) {
          expect(wasOver).toBe(false);
          state = wish;
          ends += isTerminal(state) ? 1 : 0;
        }
      }
      expect(ends).toBeLessThanOrEqual(1);
    }),
  );
});

test('success comes only from a claim, and processing only from generated', () => {
  expect(statesBefore('succeeded')).toEqual([...LEASED_STATES]);
  expect(TASK_STATES.filter((state) => canMove(state, 'processing'))).toEqual(['generated']);
});

test('every live state can fail and be canceled: nothing can get stuck with its money held', () => {
  for (const state of TASK_STATES.filter((candidate) => !isTerminal(candidate))) {
    expect(TRANSITIONS[state]).toEqual(expect.arrayContaining(['failed', 'canceled']));
  }
});

test('an expired lease goes one step back, to where the work can be claimed again', () => {
  for (const state of LEASED_STATES) {
    expect(canMove(state, stateAfterLapse(state))).toBe(true);
    expect(canMove(stateAfterLapse(state), state)).toBe(true);
  }
});

test('terminal states are those without a transition', () => {
  expect(TASK_STATES.filter(isTerminal)).toEqual([...TERMINAL_STATES]);
});

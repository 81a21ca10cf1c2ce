import type { Trap } from './statement-trap.ts';

/** A point in the course of the code where a process can die, recognized from outside the process. */
export interface DeathPoint {
  readonly name: string;
  /**
   * The work that leads there: calls, orders at the API, or orders processed by a worker that generates, that finishes, or that does both.
   */
  readonly work: 'call' | 'order' | 'generate' | 'finish' | 'in place';
  /** A statement, the first frame that the upstream is about to send, or the first bytes that a client receives. */
  readonly at: Trap | 'upstream' | 'first bytes';
}

/** Excludes what the reaper settles for processes that died earlier. */
const OF_A_CALL = /"only_expired":false/;
const OF_A_TASK = /"outputs":\[\{/;
/** Excludes what came through the queue, which is settled from the state `processing`. */
const OF_A_TASK_IN_PLACE = /"from":\["generating"\][^[]*"outputs":\[\{/;

/** The crash points of calls and tasks, in the order in which they are reached. */
export const DEATH_POINTS: readonly DeathPoint[] = [
  { name: 'before its hold', work: 'call', at: { statement: /^ledger_reserve/, side: 'unsent' } },
  { name: 'hold made, not heard', work: 'call', at: { statement: /^ledger_reserve/, side: 'unheard' } },
  { name: 'upstream asked', work: 'call', at: 'upstream' },
  { name: 'first bytes sent on', work: 'call', at: 'first bytes' },
  {
    name: 'usage known, not settled',
    work: 'call',
    at: { statement: /^ledger_settle/, holding: OF_A_CALL, side: 'unsent' },
  },
  {
    name: 'settled, not heard',
    work: 'call',
    at: { statement: /^ledger_settle/, holding: OF_A_CALL, side: 'unheard' },
  },
  { name: 'settled, not answered', work: 'call', at: { statement: /^idempotency_complete/, side: 'unsent' } },
  {
    name: 'answer stored, not sent',
    work: 'call',
    at: { statement: /^idempotency_complete/, side: 'unheard' },
  },
  {
    name: 'order taken, not answered',
    work: 'order',
    at: { statement: /^ledger_reserve/, side: 'unheard' },
  },
  {
    name: 'task claimed, engine not asked',
    work: 'generate',
    at: { statement: /^task_claim$/, holding: /generating/, side: 'unheard' },
  },
  {
    name: 'engine asked, reference not stored',
    work: 'generate',
    at: { statement: /^task_store_references$/, side: 'unsent' },
  },
  {
    name: 'engine done, result not stored',
    work: 'generate',
    at: { statement: /^task_mark_generated$/, side: 'unsent' },
  },
  {
    name: 'result stored, not heard',
    work: 'generate',
    at: { statement: /^task_mark_generated$/, side: 'unheard' },
  },
  {
    name: 'files made, not settled',
    work: 'finish',
    at: { statement: /^ledger_settle/, holding: OF_A_TASK, side: 'unsent' },
  },
  {
    name: 'settled, job not acknowledged',
    work: 'finish',
    at: { statement: /^ledger_settle/, holding: OF_A_TASK, side: 'unheard' },
  },
  {
    name: 'webhook sent, not recorded',
    work: 'finish',
    at: { statement: /^webhook_record_try$/, side: 'unsent' },
  },
  {
    name: 'files made in place, not settled',
    work: 'in place',
    at: { statement: /^ledger_settle/, holding: OF_A_TASK_IN_PLACE, side: 'unsent' },
  },
];

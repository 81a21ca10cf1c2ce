import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { newUuid } from '../lib/ids.ts';
import { NO_TRACING } from '../lib/tracing.ts';
import type { Finishing } from '../tasks/task-finisher.ts';
import { observedFinisher } from './observed-task-finisher.ts';

function finishing(state: Finishing['state'], aborted = false): Finishing {
  const signal = aborted ? AbortSignal.abort() : new AbortController().signal;
  return { task: { id: newUuid(), kind: 'video' }, state, lease: { signal } } as unknown as Finishing;
}

test('counts every attempt by place and outcome, and rethrows errors', async () => {
  const registry = new Registry();
  const broken = new Error('no');
  let answer: () => Promise<'settled' | 'fenced'> = async () => 'settled';
  const { finish } = observedFinisher({ finish: () => answer() }, registry, NO_TRACING);
  expect(await finish(finishing('generating'))).toBe('settled');
  answer = async () => 'fenced';
  expect(await finish(finishing('processing'))).toBe('fenced');
  answer = () => Promise.reject(broken);
  await expect(finish(finishing('processing'))).rejects.toBe(broken);
  await expect(finish(finishing('generating', true))).rejects.toBe(broken);
  const counts = (await registry.metrics()).split('\n').filter((line) => line.includes('seconds_count'));
  expect(counts).toEqual(
    [
      'place="in_place",outcome="settled"',
      'place="queue",outcome="fenced"',
      'place="queue",outcome="failed"',
      'place="in_place",outcome="stopped"',
    ].map((labels) => `tollgate_task_finish_seconds_count{kind="video",${labels}} 1`),
  );
});

import { expect, test } from '@jest/globals';
import { parseQueueSelection, QueueSelectionError } from './queue-selection.ts';

test.each([
  [[], 'all', ['generate', 'postprocess', 'webhooks', 'maintenance']],
  [['--queues=generate:gpu'], ['gpu'], ['generate']],
  [['--queues=generate:gpu,generate:cpu,postprocess'], ['gpu', 'cpu'], ['generate', 'postprocess']],
  [['--queues=generate'], 'all', ['generate']],
  [['--queues=generate,generate:gpu'], 'all', ['generate']],
  [['--queues=maintenance,webhooks'], [], ['maintenance', 'webhooks']],
] as const)('%j', (args, pools, families) => {
  const selection = parseQueueSelection(args);
  expect({ pools: selection.pools, families: [...selection.families] }).toEqual({ pools, families });
});

test.each([
  '--queues=',
  '--queues=gpu',
  '--queues=postprocess:gpu',
  '--queues=generate:a b',
  '--queue=x',
  'generate',
])('rejects %s with a one-line message', (arg) => {
  expect(() => parseQueueSelection([arg])).toThrow(QueueSelectionError);
});

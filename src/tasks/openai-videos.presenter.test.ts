import type { TaskOutput } from '../ledger/ledger.types.ts';
import { presentVideo } from './openai-videos.presenter.ts';
import type { OrderedSize, TaskView } from './tasks.types.ts';

const NOTHING: OrderedSize = { width: null, height: null, steps: null, seconds: null };
const ORDERED: OrderedSize = { width: 720, height: 1280, steps: null, seconds: 4 };
const FILE = { variant: 'original', width: 704, height: 1264, durationMs: 4_960 } as TaskOutput;

function shown(ordered: OrderedSize, outputs: readonly TaskOutput[] = []) {
  const task = { ordered, id: '0190a1b2-0000-7000-8000-000000000000', createdAt: new Date(0) } as TaskView;
  const details = { task, outputs, estimate: { queuePosition: null, etaSeconds: 0 } };
  const { size, seconds } = presentVideo({
    ...details,
    links: { content: null, thumbnail: null, poster: null },
  });
  return { size, seconds };
}

test('size and length are those ordered until the video is made, then those of the file', () => {
  expect(shown(ORDERED)).toEqual({ size: '720x1280', seconds: '4' });
  expect(shown(ORDERED, [FILE])).toEqual({ size: '704x1264', seconds: '5' });
  expect(shown(NOTHING)).toEqual({ size: null, seconds: null });
});

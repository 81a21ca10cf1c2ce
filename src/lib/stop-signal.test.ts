import { StopController, StoppedError } from './stop-signal.ts';

test('notifies every listener once, except removed ones, and keeps its reason', () => {
  const controller = new StopController();
  const told: string[] = [];
  const removed = () => told.push('removed');
  const onceRemoved = () => told.push('once, removed');
  controller.signal.addEventListener('abort', () => told.push('once'), { once: true });
  controller.signal.addEventListener('abort', () => told.push('always'));
  controller.signal.addEventListener('abort', removed);
  controller.signal.addEventListener('abort', onceRemoved, { once: true });
  controller.signal.removeEventListener('abort', removed);
  controller.signal.removeEventListener('abort', onceRemoved);
  expect(controller.signal.aborted).toBe(false);
  expect(controller.signal.reason).toBeUndefined();
  controller.signal.throwIfAborted();

  controller.abort();
  controller.abort();
  expect(told).toEqual(['once', 'always']);
  expect(controller.signal.aborted).toBe(true);
  expect(controller.signal.reason).toBeInstanceOf(StoppedError);
  expect(() => controller.signal.throwIfAborted()).toThrow(StoppedError);
});

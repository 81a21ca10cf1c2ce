import { useState } from 'preact/hooks';
import { type Reading, refresh, useRead } from '../../api/queries.ts';
import type { Task } from '../../api/types.gen.ts';
import { isLive } from './task-state.ts';

const LIVE_MS = 1_000;

/** Reads a task again and again until it has ended; then the lists and the balance are read once more. For one id in its lifetime. */
export function useTask(id: string): Reading<Task> {
  const [isOver, setOver] = useState(false);
  const reading = useRead<Task>(`/api/v1/tasks/${id}`, {}, { everyMs: isOver ? undefined : LIVE_MS });
  if (reading.data && !isLive(reading.data) && !isOver) {
    setOver(true);
    refresh('/api/v1/tasks', '/api/v1/account');
  }
  return reading;
}

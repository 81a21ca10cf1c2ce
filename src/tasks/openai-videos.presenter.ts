import { publicId } from '../lib/ids.ts';
import { usdNumber } from '../lib/money.ts';
import type { OpenAiVideoJson } from './openai-videos.schema.ts';
import { progressPercent } from './task-result.presenter.ts';
import type { TaskDetails } from './tasks.service.ts';
import type { TaskView } from './tasks.types.ts';

/** Returns a task in the shape of OpenAI's videos. */
export function presentVideo({ task, outputs }: TaskDetails): OpenAiVideoJson {
  const video = outputs.find(({ variant }) => variant === 'original');
  const { createdAt, completedAt, mediaExpiresAt, errorCode, errorMessage, ordered } = task;
  // until it is made, what was ordered: OpenAI's clients rely on both
  const { width, height } = video ?? ordered;
  const seconds = video?.durationMs ? Math.round(video.durationMs / 1000) : ordered.seconds;
  return {
    id: publicId('generation', task.id),
    object: 'video',
    model: task.model,
    status: statusOf(task),
    progress: progressPercent(task),
    created_at: unixSeconds(createdAt),
    completed_at: completedAt && unixSeconds(completedAt),
    expires_at: mediaExpiresAt && unixSeconds(mediaExpiresAt),
    size: width === null || height === null ? null : `${width}x${height}`,
    seconds: seconds === null ? null : String(seconds),
    quality: 'standard',
    remixed_from_video_id: null,
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' },
    usage: task.state === 'succeeded' ? { cost: usdNumber(task.charge) } : null,
  };
}

function statusOf({ state, startedAt }: TaskView): OpenAiVideoJson['status'] {
  switch (state) {
    case 'queued':
      return startedAt === null ? 'queued' : 'in_progress';
    case 'generating':
    case 'generated':
    case 'processing':
      return 'in_progress';
    case 'succeeded':
      return 'completed';
    case 'failed':
    case 'canceled':
      return 'failed';
  }
}

function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

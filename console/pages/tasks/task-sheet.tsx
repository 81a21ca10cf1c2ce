import { useMemo, useState } from 'preact/hooks';
import { useActing } from '../../api/acting.ts';
import { send } from '../../api/client.ts';
import { mayCall } from '../../api/members.ts';
import { refresh, useRead } from '../../api/queries.ts';
import type { Task } from '../../api/types.gen.ts';
import { promptOf } from '../../lib/device-store.ts';
import { to } from '../../lib/location.ts';
import { formatBytes, t } from '../../lib/text.ts';
import { formatDuration } from '../../lib/time.ts';
import { Amount } from '../../ui/amount.tsx';
import { Id } from '../../ui/copy.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Loaded, Notice, Problem } from '../../ui/feedback.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { isLive } from './task-state.ts';

const LIVE_MS = 1_000;

/** One task: its picture or video, its money, and what can be done with it. */
export function TaskSheet({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const [isOver, setOver] = useState(false);
  const reading = useRead<Task>(`/api/v1/tasks/${id}`, {}, { everyMs: isOver ? undefined : LIVE_MS });
  if (reading.data && !isLive(reading.data) && !isOver) {
    setOver(true);
    refresh('/api/v1/tasks', '/api/v1/account');
  }
  return (
    <Dialog title={reading.data?.model ?? t('Task')} kind="sheet" onClose={onClose}>
      <Loaded reading={reading} lines={10}>
        {(task) => (
          <div class="form">
            <Result task={task} />
            <Facts task={task} />
            {mayCall() ? <Acts task={task} onGone={onClose} /> : null}
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function Result({ task }: { readonly task: Task }) {
  // each reading signs new links: what is shown stays
  const { content_url: source, poster_url: poster } = useMemo(() => task, [task.id, task.status]);
  if (isLive(task)) {
    return (
      <div class="result-live">
        <progress class="bar" max={100} value={task.progress_percent} aria-label={t('Progress')} />
        <p>
          <Status of={task.status} /> {task.progress_percent} %
          {task.queue_position === null
            ? ''
            : ` · ${t('place {place} in the queue', { place: task.queue_position })}`}
        </p>
      </div>
    );
  }
  if (source === null) {
    return (
      <Notice tone={task.status === 'failed' ? 'bad' : 'info'}>
        {task.error === null ? null : (
          <p>
            {task.error.code}: {task.error.message}
          </p>
        )}
        <p>{task.status === 'succeeded' ? t('The files have expired.') : t('You paid nothing.')}</p>
      </Notice>
    );
  }
  return task.kind === 'video' ? (
    <video class="result" controls preload="none" src={source} {...(poster && { poster })} />
  ) : (
    <img class="result" src={source} alt={t('Picture made by {model}', { model: task.model })} />
  );
}

function Facts({ task }: { readonly task: Task }) {
  const [original] = task.outputs.filter(({ variant }) => variant === 'original');
  const prompt = promptOf(task.id);
  return (
    <dl class="facts">
      <dt>{t('State')}</dt>
      <dd>
        <Status of={task.status} />
      </dd>
      {prompt === undefined ? null : (
        <>
          <dt>{t('Prompt')}</dt>
          <dd>{prompt}</dd>
        </>
      )}
      <dt>{t('Charged')}</dt>
      <dd>
        {isLive(task) ? (
          <>
            <Amount value={task.estimated_amount} /> {t('held')}
          </>
        ) : (
          <Amount value={task.charged_amount} />
        )}
      </dd>
      {original === undefined ? null : (
        <>
          <dt>{t('File')}</dt>
          <dd>
            {original.width} × {original.height}
            {original.duration_ms === null ? '' : ` · ${formatDuration(original.duration_ms)}`} ·{' '}
            {formatBytes(original.bytes)}
          </dd>
        </>
      )}
      <dt>{t('Seed')}</dt>
      <dd>
        <Id value={task.seed} />
      </dd>
      <dt>{t('Ordered')}</dt>
      <dd>
        <Time at={task.created_at} />
      </dd>
      {task.started_at === null || task.completed_at === null ? null : (
        <>
          <dt>{t('Run time')}</dt>
          <dd>{formatDuration(Date.parse(task.completed_at) - Date.parse(task.started_at))}</dd>
        </>
      )}
      {task.expires_at === null ? null : (
        <>
          <dt>{t('Files kept until')}</dt>
          <dd>
            <Time at={task.expires_at} />
          </dd>
        </>
      )}
      <dt>{t('Id')}</dt>
      <dd>
        <Id value={task.id} />
      </dd>
    </dl>
  );
}

/** The form of the playground, filled in as the task was ordered. */
function againOf({ id, kind, model, seed, parameters: { width, height, steps } }: Task): string {
  const size = width === null || height === null ? undefined : `${width}*${height}`;
  return to('playground', { kind, model, seed, again: id, size, steps: steps?.toString() });
}

function Acts({ task, onGone }: { readonly task: Task; readonly onGone: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const cancelling = useActing(async () => {
    await send('POST', `/api/v1/tasks/${task.id}/cancel`);
    refresh('/api/v1/tasks', '/api/v1/account');
  });
  const deleting = useActing(async () => {
    await send('DELETE', `/api/v1/tasks/${task.id}`);
    onGone();
    refresh('/api/v1/tasks');
  });
  return (
    <>
      {cancelling.error === undefined ? null : <Problem error={cancelling.error} />}
      {deleting.error === undefined ? null : <Problem error={deleting.error} />}
      <div class="form-row">
        {isLive(task) ? (
          <button
            type="button"
            class="button button-bad"
            disabled={cancelling.isPending || task.cancel_requested}
            onClick={() => void cancelling.run()}
          >
            {task.cancel_requested ? t('Cancelling …') : t('Cancel: stops the work, you pay nothing')}
          </button>
        ) : null}
        {task.content_url === null ? null : (
          <a class="button" href={task.content_url} target="_blank" rel="noreferrer">
            <Icon name="download" /> {t('Open the file')}
          </a>
        )}
        <a class="button" href={againOf(task)}>
          {t('Run again with this seed')}
        </a>
        {isLive(task) ? null : (
          <button type="button" class="button button-bad" onClick={() => setAsking(true)}>
            {t('Delete …')}
          </button>
        )}
      </div>
      {isAsking ? (
        <Confirm
          title={t('Delete this task and its files?')}
          text={t('The files are deleted at once, permanently. The charge stays in the ledger.')}
          action={t('Delete')}
          isPending={deleting.isPending}
          onConfirm={() => void deleting.run()}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}

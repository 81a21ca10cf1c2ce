import { useAction } from '../api/action.ts';
import { send } from '../api/client.ts';
import { refresh, useRead } from '../api/queries.ts';
import type { OperatorTaskDetails } from '../api/types.gen.ts';
import { to } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import { Amount } from '../ui/amount.tsx';
import { Id } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Loaded, Notice, Problem } from '../ui/feedback.tsx';
import { Status } from '../ui/status.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

const LIVE_MS = 2_000;

/** The state of a task, its history, and a way to retry it. */
export function TaskSheet({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const reading = useRead<OperatorTaskDetails>(`/admin/v1/tasks/${id}`, {}, { everyMs: LIVE_MS });
  return (
    <Dialog title={t('Task')} kind="sheet" onClose={onClose}>
      <Loaded reading={reading} lines={10}>
        {(task) => (
          <div class="form">
            {task.error === null ? null : (
              <Notice tone="bad">
                <p>
                  {task.error.code}: {task.error.message}
                </p>
              </Notice>
            )}
            <Facts task={task} />
            <Table
              plain
              label={t('History')}
              rows={task.history.map((row, index) => ({ ...row, index }))}
              rowKey={({ index }) => String(index)}
              columns={[
                { name: t('Time'), cell: ({ at }) => <Time at={at} relative /> },
                { name: t('State'), cell: ({ state }) => <Status of={state} /> },
                { name: t('Detail'), cell: ({ detail, said }) => said ?? detail ?? '–', clip: true },
              ]}
            />
            <Retry task={task} />
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function Facts({ task }: { readonly task: OperatorTaskDetails }) {
  return (
    <dl class="facts">
      <dt>{t('State')}</dt>
      <dd>
        <Status of={task.state} /> {task.progress_percent} %
      </dd>
      <dt>{t('Charged')}</dt>
      <dd>
        <Amount value={task.charged} /> · {t('held')} <Amount value={task.held} />
      </dd>
      <dt>{t('Model')}</dt>
      <dd>{task.model}</dd>
      <dt>{t('Pool')}</dt>
      <dd>{task.pool}</dd>
      <dt>{t('Worker')}</dt>
      <dd>{task.worker ?? '–'}</dd>
      <dt>{t('Runs')}</dt>
      <dd>
        {t('{runs}, of which {failures} failed and {interruptions} were interrupted', {
          runs: task.generation_runs,
          failures: task.failures,
          interruptions: task.interruptions,
        })}
      </dd>
      <dt>{t('Deadline')}</dt>
      <dd>
        <Time at={task.deadline_at} />
      </dd>
      <dt>{t('Account')}</dt>
      <dd>
        <a class="mono" href={to(`operator/accounts/${task.account_id}`)}>
          {task.account_id}
        </a>
      </dd>
      <dt>{t('Id')}</dt>
      <dd>
        <Id value={task.id} />
      </dd>
    </dl>
  );
}

function Retry({ task }: { readonly task: OperatorTaskDetails }) {
  const retrying = useAction(async () => {
    await send('POST', `/admin/v1/tasks/${task.id}/retry`);
    refresh('/admin/v1/tasks');
  });
  if (task.retried_as !== null) {
    return (
      <p>
        {t('Retried as')} <Id value={task.retried_as} />
      </p>
    );
  }
  if (!task.retryable) {
    return null;
  }
  return (
    <>
      {retrying.error === undefined ? null : <Problem error={retrying.error} texts={retryTexts()} />}
      <p>
        <button
          type="button"
          class="button"
          disabled={retrying.isPending}
          onClick={() => void retrying.run()}
        >
          {t('Retry at the original price')}
        </button>
      </p>
    </>
  );
}

/** Who cannot pay is the customer, not the operator who reads this. */
function retryTexts(): Readonly<Record<string, string>> {
  return {
    insufficient_credits: t('The customer’s available credits do not cover the price. Nothing was retried.'),
    key_limit_exceeded: t('The limit of the customer’s key does not cover the price. Nothing was retried.'),
  };
}

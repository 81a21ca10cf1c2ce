import { useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Choice } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { TaskList } from '../task-list.tsx';

/** Images and videos of all accounts. */
export function TasksPage() {
  const [state, setState] = useQueryState('state', '');
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Tasks')}</h1>
        <div class="page-actions">
          <Choice
            bare
            label={t('State')}
            value={state}
            options={[
              ['', t('All states')],
              ['queued', t('queued')],
              ['generating', t('running')],
              ['generated', t('finishing')],
              ['succeeded', t('done')],
              ['failed', t('failed')],
              ['canceled', t('cancelled')],
            ]}
            onChange={setState}
          />
        </div>
      </div>
      <Panel flush>
        <TaskList query={{ state }} />
      </Panel>
    </div>
  );
}

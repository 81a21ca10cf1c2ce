import { useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { TextFilter } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { AuditList } from '../audit-list.tsx';

/** All actions of operators: by whom, on what, and by which request. */
export function AuditPage() {
  const [action, setAction] = useQueryState('action', '');
  const [actor, setActor] = useQueryState('actor', '');
  const [since, setSince] = useQueryState('since', '');
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Audit log')}</h1>
        <div class="page-actions filters">
          <TextFilter
            label={t('Filter by action')}
            placeholder="account.update"
            value={action}
            onChange={setAction}
          />
          <TextFilter
            label={t('Filter by operator')}
            placeholder={t('Operator')}
            value={actor}
            onChange={setActor}
          />
          <input
            type="date"
            aria-label={t('Since (UTC)')}
            value={since}
            onChange={(event) => setSince(event.currentTarget.value)}
          />
        </div>
      </div>
      <Panel flush>
        <AuditList query={{ action, actor, start_time: since }} />
      </Panel>
    </div>
  );
}

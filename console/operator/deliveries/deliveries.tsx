import { useAction } from '../../api/action.ts';
import { useList } from '../../api/lists.ts';
import { refresh } from '../../api/queries.ts';
import { useSendOnce } from '../../api/send-once.ts';
import type { OperatorDelivery } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Problem } from '../../ui/feedback.tsx';
import { Choice } from '../../ui/field.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { accountColumn } from '../account-column.tsx';

const LIVE_MS = 10_000;
const PATH = '/admin/v1/webhooks/deliveries';

/** Webhooks of all accounts; failed ones can be sent again. */
export function DeliveriesPage() {
  const [state, setState] = useQueryState('state', '');
  const [account] = useQueryState('account', '');
  const listing = useList<OperatorDelivery>(PATH, { state, account_id: account }, { everyMs: LIVE_MS });
  const sendOnce = useSendOnce();
  const sending = useAction(async (id: string) => {
    await sendOnce(`${PATH}/${id}/redeliver`);
    refresh(PATH);
  });
  return (
    <div class="page">
      <div class="page-head">
        <h1 tabIndex={-1}>{t('Deliveries')}</h1>
        <div class="page-actions filters">
          {account === '' ? null : <a href={to('operator/deliveries', { state })}>{t('All accounts')}</a>}
          <Choice
            bare
            label={t('State')}
            value={state}
            options={[
              ['', t('All states')],
              ['pending', t('pending')],
              ['delivered', t('delivered')],
              ['failed', t('failed')],
            ]}
            onChange={setState}
          />
        </div>
      </div>
      <Panel flush>
        {sending.error === undefined ? null : <Problem error={sending.error} />}
        <List
          label={t('Deliveries')}
          listing={listing}
          rowKey={({ id }) => id}
          empty={t('No deliveries, or none that match the filters.')}
          columns={columns((id) => void sending.run(id), sending.isPending)}
        />
      </Panel>
    </div>
  );
}

function columns(redeliver: (id: string) => void, isPending: boolean): Column<OperatorDelivery>[] {
  return [
    { name: t('Created'), cell: ({ created_at: at }) => <Time at={at} relative /> },
    { name: t('State'), cell: ({ state }) => <Status of={state} /> },
    { name: t('Tries'), cell: ({ tries }) => tries, number: true },
    {
      name: t('Last response'),
      cell: ({ last_http_status: status, last_error: error }) => error ?? status ?? '–',
      clip: true,
    },
    { name: t('Address'), cell: ({ url }) => url, clip: true, card: 'wide' },
    accountColumn(),
    {
      name: t('Action'),
      cell: ({ id, state }) =>
        state === 'failed' ? (
          <button type="button" class="button" disabled={isPending} onClick={() => redeliver(id)}>
            {t('Send again')}
          </button>
        ) : null,
    },
  ];
}

import { useRead } from '../../api/queries.ts';
import type { Generation } from '../../api/types.gen.ts';
import { to } from '../../lib/location.ts';
import { formatTokens, t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

/** The newest calls. */
export function LatestGenerations() {
  const { data } = useRead<readonly Generation[]>('/api/v1/generations', { limit: 8 }, { everyMs: 5_000 });
  if (!data || data.length === 0) {
    return null;
  }
  return (
    <Panel
      title={t('Latest generations')}
      actions={<a href={to('generations')}>{t('All generations')}</a>}
      flush
    >
      <Table
        label={t('Latest generations')}
        rows={data}
        rowKey={({ id }) => id}
        columns={[
          {
            name: t('Time'),
            cell: ({ id, created_at: at }) => (
              <a href={to('generations', { generation: id })}>
                <Time at={at} relative />
              </a>
            ),
          },
          {
            name: t('Charged'),
            cell: ({ charged_amount: amount }) => <Amount value={amount} />,
            number: true,
          },
          { name: t('Model'), cell: ({ model }) => model, clip: true },
          { name: t('State'), cell: ({ status }) => <Status of={status} /> },
          {
            name: t('Tokens'),
            cell: ({ usage }) => formatTokens(usage),
            number: true,
            card: 'hidden',
          },
        ]}
      />
    </Panel>
  );
}

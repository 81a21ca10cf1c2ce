import { useList } from '../../api/lists.ts';
import type { PricePeriod } from '../../api/types.gen.ts';
import { t } from '../../lib/text.ts';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { MillionPrice, otherPriceLines } from '../../ui/prices.tsx';
import { Time } from '../../ui/time.tsx';

/** Prices over time, newest first. */
export function Prices() {
  const listing = useList<PricePeriod>('/admin/v1/prices', {});
  return (
    <Panel flush>
      <List
        label={t('Prices')}
        listing={listing}
        rowKey={({ model, starts_at: at }) => `${model} ${at}`}
        empty={t('There are no prices yet.')}
        columns={[
          { name: t('Model'), cell: ({ model }) => model, clip: true },
          {
            name: t('Input, per million'),
            cell: ({ prices }) => <MillionPrice price={prices?.prompt} />,
            number: true,
          },
          {
            name: t('Output, per million'),
            cell: ({ prices }) => <MillionPrice price={prices?.completion} />,
            number: true,
          },
          { name: t('Other prices'), cell: ({ prices }) => otherPriceLines(prices ?? {}), card: 'wide' },
          { name: t('From'), cell: ({ starts_at: at }) => <Time at={at} /> },
          {
            name: t('Until'),
            cell: ({ ends_at: at, price_version: version }) =>
              at === null ? version === null ? t('not sold') : t('now') : <Time at={at} />,
          },
          {
            name: t('Version'),
            cell: ({ price_version: version }) => version ?? '–',
            clip: true,
            card: 'hidden',
          },
        ]}
      />
    </Panel>
  );
}

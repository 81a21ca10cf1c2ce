import { useList } from '../../api/lists.ts';
import type { PricePeriod } from '../../api/types.gen.ts';
import { parseUsd } from '../../lib/money.ts';
import { isPerToken, type OtherPrice, otherPrices } from '../../lib/other-prices.ts';
import { perMillion } from '../../lib/price.ts';
import { t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
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
            cell: ({ prices }) => <Million price={prices?.prompt} />,
            number: true,
          },
          {
            name: t('Output, per million'),
            cell: ({ prices }) => <Million price={prices?.completion} />,
            number: true,
          },
          { name: t('Other prices'), cell: ({ prices }) => others(prices ?? {}), card: 'wide' },
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

function Million({ price }: { readonly price: string | undefined }) {
  return <Amount value={price === undefined ? undefined : perMillion(price)} />;
}

function others(prices: Readonly<Record<string, string>>) {
  const listed = otherPrices(prices);
  return listed.length === 0
    ? '–'
    : listed.map((other) => (
        <div key={`${other.size} ${other.item}`}>
          <Other price={other} />
        </div>
      ));
}

function Other({ price: { price, item, size } }: { readonly price: OtherPrice }) {
  // a price may be smaller than the ledger's smallest amount
  const amount = isPerToken(item) ? perMillion(price) : parseUsd(price);
  return (
    <>
      {amount === undefined ? `$${price}` : <Amount value={amount} />} {itemText(item)}
      {size === undefined ? '' : ` ${t('at {size}', { size: size.replace('*', ' × ') })}`}
    </>
  );
}

function itemText(item: string): string {
  switch (item) {
    case 'request':
      return t('per request');
    case 'image':
      return t('per image');
    case 'second':
      return t('per second');
    case 'web_search':
      return t('per web search');
    case 'input_cache_read':
      return t('per million read from the cache');
    case 'input_cache_write':
      return t('per million written to the cache');
    case 'internal_reasoning':
      return t('per million of reasoning');
    default:
      return item;
  }
}

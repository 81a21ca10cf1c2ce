import { apiPath } from '../../api/client.ts';
import { useList } from '../../api/lists.ts';
import type { Invoice } from '../../api/types.gen.ts';
import { usd } from '../../lib/money.ts';
import { language, t } from '../../lib/text.ts';
import { Amount } from '../../ui/amount.tsx';
import { List } from '../../ui/list.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table.tsx';

/** One statement per UTC month, with a check of its sum. */
export function Statements() {
  const listing = useList<Invoice>('/api/v1/billing/invoices', {});
  return (
    <Panel title={t('Statements')} flush>
      <List
        label={t('Statements')}
        listing={listing}
        columns={columns()}
        rowKey={({ id }) => id}
        empty={t('No statements yet. The first one starts with the first transaction.')}
      />
    </Panel>
  );
}

function columns(): Column<Invoice>[] {
  return [
    { name: t('Month (UTC)'), cell: ({ period_start: start }) => monthName(start) },
    { name: t('State'), cell: ({ status }) => <Status of={status} /> },
    {
      name: t('Opening'),
      cell: ({ opening_balance: value }) => <Amount value={value} />,
      number: true,
      card: 'hidden',
    },
    {
      name: t('Purchases'),
      cell: ({ credit_purchase_total: value }) => <Amount value={value} />,
      number: true,
      card: 'hidden',
    },
    {
      name: t('Usage'),
      cell: ({ usage_charge_total: value }) => <Amount value={-usd(value)} />,
      number: true,
      card: 'hidden',
    },
    {
      name: t('Refunds'),
      cell: ({ refund_total: value }) => <Amount value={value} />,
      number: true,
      card: 'hidden',
    },
    {
      name: t('Adjustments'),
      cell: ({ adjustment_total: value }) => <Amount value={value} />,
      number: true,
      card: 'hidden',
    },
    { name: t('Closing'), cell: (invoice) => <Closing of={invoice} />, number: true, card: 'wide' },
    { name: t('Files'), cell: ({ id }) => <Files id={id} />, card: 'wide' },
  ];
}

function monthName(start: string): string {
  return new Intl.DateTimeFormat(language(), { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(
    new Date(start),
  );
}

/** Computes opening + purchases − usage + refunds + adjustments and compares it with the statement. */
function Closing({ of: invoice }: { readonly of: Invoice }) {
  const computed =
    usd(invoice.opening_balance) +
    usd(invoice.credit_purchase_total) -
    usd(invoice.usage_charge_total) +
    usd(invoice.refund_total) +
    usd(invoice.adjustment_total);
  return computed === usd(invoice.closing_balance) ? (
    <span title={t('opening + purchases − usage + refunds + adjustments = closing')}>
      <Amount value={invoice.closing_balance} /> <span class="status-good">✓</span>
    </span>
  ) : (
    <span class="status-bad">
      <Amount value={invoice.closing_balance} /> ✕ {t('but the parts add up to')} <Amount value={computed} />
    </span>
  );
}

function Files({ id }: { readonly id: string }) {
  return (
    <>
      <a href={apiPath(`/api/v1/billing/invoices/${id}.pdf`)} download>
        PDF
      </a>{' '}
      <a href={apiPath(`/api/v1/billing/invoices/${id}.csv`)} download>
        CSV
      </a>
    </>
  );
}

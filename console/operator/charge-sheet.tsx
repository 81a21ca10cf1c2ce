import { useState } from 'preact/hooks';
import { refresh, useRead } from '../api/queries.ts';
import type { ChargeRecord } from '../api/types.gen.ts';
import { to } from '../lib/location.ts';
import { sumUsd, usd } from '../lib/money.ts';
import { formatTokens, t } from '../lib/text.ts';
import { formatDuration } from '../lib/time.ts';
import { Amount } from '../ui/amount.tsx';
import { Id } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Loaded, Notice } from '../ui/feedback.tsx';
import { Status } from '../ui/status.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { RefundDialog } from './refund.tsx';

/** Everything that explains the charge of a call or task, and a way to refund it. Never its content. */
export function ChargeSheet({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const [isRefunding, setRefunding] = useState(false);
  const reading = useRead<ChargeRecord>(`/admin/v1/generations/${id}`);
  const close = () => {
    setRefunding(false);
    refresh('/admin/v1/');
  };
  return (
    <Dialog title={t('What was charged, and why')} kind="sheet" onClose={onClose}>
      <Loaded reading={reading} lines={10}>
        {(record) => (
          <div class="form">
            <Facts record={record} />
            <Attempts rows={record.attempts} />
            <Bookings rows={record.transactions} />
            {refundable(record) <= 0n ? (
              <Notice tone="info">
                <p>
                  {record.charged_amount === '0.00'
                    ? t('Nothing was charged.')
                    : t('The whole charge was refunded.')}
                </p>
              </Notice>
            ) : (
              <button type="button" class="button" onClick={() => setRefunding(true)}>
                {t('Refund …')}
              </button>
            )}
            {isRefunding ? (
              <RefundDialog account={record.account_id} generation={id} onClose={close} />
            ) : null}
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

/** Returns what of the charge was not refunded yet, in nano-USD. */
function refundable({ charged_amount: charged, transactions }: ChargeRecord): bigint {
  const refunds = transactions.filter(({ type }) => type === 'refund');
  return usd(charged) - sumUsd(refunds.map(({ amount }) => usd(amount.value)));
}

function Facts({ record }: { readonly record: ChargeRecord }) {
  const { usage, error } = record;
  return (
    <dl class="facts">
      <dt>{t('State')}</dt>
      <dd>
        <Status of={record.status} /> {error === null ? '' : `${error.code}: ${error.message}`}
      </dd>
      <dt>{t('Charged')}</dt>
      <dd>
        <Amount value={record.charged_amount} />
      </dd>
      <dt>{t('Held initially')}</dt>
      <dd>
        <Amount value={record.held} />
      </dd>
      {record.not_charged === '0.00' ? null : (
        <>
          <dt>{t('Not charged')}</dt>
          <dd>
            <Amount value={record.not_charged} />
          </dd>
        </>
      )}
      {Object.entries(record.cost_details).map(([line, amount]) => (
        <PriceLine key={line} line={line} amount={amount} />
      ))}
      <dt>{t('Provider')}</dt>
      <dd>
        {record.provider ?? '–'} · {t('cost')} <Amount value={record.provider_cost ?? undefined} />
      </dd>
      <dt>{t('Tokens')}</dt>
      <dd>{formatTokens(usage)}</dd>
      <dt>{t('Model')}</dt>
      <dd>{record.model}</dd>
      <dt>{t('Account')}</dt>
      <dd>
        <a href={to(`operator/accounts/${record.account_id}`)}>{record.account_name}</a> ·{' '}
        {record.api_key_name}
      </dd>
      <dt>{t('Started')}</dt>
      <dd>
        <Time at={record.created_at} />
      </dd>
      <dt>{t('Id')}</dt>
      <dd>
        <Id value={record.id} />
      </dd>
      <dt>{t('Request')}</dt>
      <dd>
        <Id value={record.request_id} />
      </dd>
    </dl>
  );
}

function PriceLine({ line, amount }: { readonly line: string; readonly amount: string }) {
  return (
    <>
      <dt>{t(line.replaceAll('_', ' '))}</dt>
      <dd>
        <Amount value={amount} />
      </dd>
    </>
  );
}

function Attempts({ rows }: { readonly rows: ChargeRecord['attempts'] }) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <Table
      plain
      label={t('Attempts')}
      rows={rows.map((row, index) => ({ ...row, index }))}
      rowKey={({ index }) => String(index)}
      columns={[
        { name: t('Attempt'), cell: ({ provider, model }) => `${provider} ${model}`, clip: true },
        { name: t('Outcome'), cell: ({ outcome, said }) => <span title={said ?? ''}>{outcome}</span> },
        { name: t('Duration'), cell: ({ latency_ms: ms }) => formatDuration(ms), number: true },
      ]}
    />
  );
}

function Bookings({ rows }: { readonly rows: ChargeRecord['transactions'] }) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <Table
      plain
      label={t('Ledger entries')}
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        { name: t('Booked'), cell: ({ created_at: at }) => <Time at={at} relative /> },
        { name: t('Type'), cell: ({ type }) => t(type.replace('_', ' ')) },
        { name: t('Amount'), cell: ({ amount }) => <Amount value={amount.value} />, number: true },
      ]}
    />
  );
}

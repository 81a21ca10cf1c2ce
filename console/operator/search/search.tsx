import { useRead } from '../../api/queries.ts';
import type { Finding } from '../../api/types.gen.ts';
import { to, useQueryState } from '../../lib/location.ts';
import { t } from '../../lib/text.ts';
import { Empty, Loaded } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table } from '../../ui/table.tsx';
import { accountColumn } from '../account-column.tsx';
import { ChargeSheet } from '../charge-sheet.tsx';

/** Characters that a search needs, like the service. */
const LENGTH_MIN = 2;

/** Search results, each with a link. */
export function SearchPage() {
  const [text] = useQueryState('q', '');
  const [charge, chooseCharge] = useQueryState('charge', '');
  // as the service counts: an emoji is one character
  const isLong = [...text].length >= LENGTH_MIN;
  const reading = useRead<readonly Finding[]>('/admin/v1/search', { q: text }, { enabled: isLong });
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('Results for “{text}”', { text })}</h1>
      <Panel flush>
        {isLong ? null : <Empty text={t('Type at least two characters.')} />}
        <Loaded reading={reading}>
          {(findings) =>
            findings.length === 0 ? (
              <Empty
                text={t(
                  'No results. IDs must be complete; part of a name is enough. Keys are found by hash or label.',
                )}
              />
            ) : (
              <Findings rows={findings} />
            )
          }
        </Loaded>
      </Panel>
      {charge === '' ? null : <ChargeSheet id={charge} onClose={() => chooseCharge('')} />}
    </div>
  );
}

function Findings({ rows }: { readonly rows: readonly Finding[] }) {
  const [text] = useQueryState('q', '');
  const account = accountColumn<Finding>();
  return (
    <Table
      label={t('Results')}
      rows={rows}
      rowKey={({ kind, id, account_id: account }) => `${kind} ${id} ${account}`}
      columns={[
        { name: t('Kind'), cell: ({ kind }) => t(kind.replace('_', ' ')) },
        {
          name: t('Item'),
          cell: (finding) => (
            <a class="mono" href={addressOf(finding, text)}>
              {finding.id}
            </a>
          ),
          clip: true,
          card: 'wide',
        },
        { name: t('Description'), cell: ({ summary }) => summary, clip: true },
        {
          ...account,
          cell: (finding) => (finding.kind === 'account' ? '–' : account.cell(finding)),
        },
      ]}
    />
  );
}

function addressOf({ kind, id, account_id: account }: Finding, text: string): string {
  switch (kind) {
    case 'generation':
      return to('operator/search', { q: text, charge: id });
    case 'webhook_delivery':
      return to('operator/deliveries', { account });
    case 'key':
      return to(`operator/accounts/${account}`, { tab: 'keys' });
    case 'transaction':
    case 'checkout_session':
      return to(`operator/accounts/${account}`, { tab: 'transactions' });
    default:
      return to(`operator/accounts/${account}`);
  }
}

import { to } from '../lib/location.ts';
import { t } from '../lib/text.ts';
import type { Column } from '../ui/table.tsx';

/** A column with the account of a row, linked to its page. */
export function accountColumn<Row extends { readonly account_id: string }>(): Column<Row> {
  return {
    name: t('Account'),
    cell: ({ account_id: account }) => (
      <a class="mono" href={to(`operator/accounts/${account}`)}>
        {account}
      </a>
    ),
    clip: true,
    card: 'wide',
  };
}

import type { ComponentChildren } from 'preact';
import type { Listing } from '../api/lists.ts';
import { t } from '../lib/text.ts';
import { Empty, Problem, Skeleton } from './feedback.tsx';
import { type Column, Table } from './table.tsx';

export interface ListProps<Row> {
  readonly label: string;
  readonly listing: Listing<Row>;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly empty: string;
  /** What to do where there is nothing yet. */
  readonly emptyAction?: ComponentChildren;
  readonly foot?: ComponentChildren;
}

/** A list by pages with everything that can be said about it: loading, failed, empty, older rows. */
export function List<Row>({ label, listing, columns, rowKey, empty, emptyAction, foot }: ListProps<Row>) {
  const { rows, error, isStale, older, isLoadingOlder, refetch } = listing;
  if (rows === undefined) {
    return error ? <Problem error={error} retry={refetch} /> : <Skeleton lines={6} />;
  }
  if (rows.length === 0 && !older) {
    return <Empty text={empty}>{emptyAction}</Empty>;
  }
  return (
    <div class={isStale ? 'stale' : undefined}>
      <Table label={label} columns={columns} rows={rows} rowKey={rowKey} foot={foot} />
      {rows.length === 0 ? (
        <Empty text={t('Nothing fits among those that were looked at. Older ones may.')} />
      ) : null}
      <div class="list-foot">
        {error ? <Problem error={error} /> : null}
        {older ? (
          <button type="button" class="button" disabled={isLoadingOlder} onClick={older}>
            {isLoadingOlder ? t('Loading …') : t('Load older')}
          </button>
        ) : null}
      </div>
    </div>
  );
}

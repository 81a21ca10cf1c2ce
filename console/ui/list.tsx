import type { ComponentChildren } from 'preact';
import type { Listing } from '../api/lists.ts';
import { t } from '../lib/text.ts';
import { Empty, Problem, Skeleton } from './feedback.tsx';
import { type Column, Table } from './table.tsx';
import { Time } from './time.tsx';

export interface ListProps<Row> {
  readonly label: string;
  readonly listing: Listing<Row>;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly empty: string;
  /** What to do if the list is empty. */
  readonly emptyAction?: ComponentChildren;
  readonly foot?: ComponentChildren;
}

/** A paginated list with all its states: loading, failed, empty, older rows. */
export function List<Row>({ label, listing, columns, rowKey, empty, emptyAction, foot }: ListProps<Row>) {
  const { rows, error, isStale, older, isLoadingOlder, searchedUntil, refetch } = listing;
  if (rows === undefined) {
    return error ? <Problem error={error} retry={refetch} /> : <Skeleton lines={6} />;
  }
  if (rows.length === 0 && !older) {
    return <Empty text={empty}>{emptyAction}</Empty>;
  }
  return (
    <div class={isStale ? 'stale' : undefined}>
      <Waiting listing={listing} />
      <Table label={label} columns={columns} rows={rows} rowKey={rowKey} foot={foot} />
      {rows.length === 0 && searchedUntil === undefined ? (
        <Empty text={t('No matches among the entries searched so far. Older ones may match.')} />
      ) : null}
      <div class="list-foot">
        {error ? <Problem error={error} /> : null}
        {searchedUntil === undefined ? null : (
          <p>
            {t('Searched back to')} <Time at={searchedUntil} />. {t('Older ones may also match.')}
          </p>
        )}
        {older ? (
          <button type="button" class="button" disabled={isLoadingOlder} onClick={older}>
            {isLoadingOlder ? t('Loading …') : searchedUntil === undefined ? t('Load older') : t('Continue')}
          </button>
        ) : null}
      </div>
    </div>
  );
}

/** Shows how many new rows are waiting; they are displayed on request. */
export function Waiting<Row>({ listing: { waiting, showWaiting } }: { readonly listing: Listing<Row> }) {
  return (
    <div class="list-head" role="status">
      {waiting === 0 ? null : (
        <button type="button" class="button" onClick={showWaiting}>
          ↑ {t('{count} new', { count: waiting })}
        </button>
      )}
    </div>
  );
}

import { presentTransaction } from '../billing/transactions.presenter.ts';
import { decodeCursor, INTEGER_PART, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, linkHeader } from '../http/answers/page.ts';
import { checkOrder } from '../http/input/time-range.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { requestIdOfCall } from '../ledger/stored-call.ts';
import { publicId } from '../lib/ids.ts';
import type { LedgerEntriesReadModel, LedgerEntryRow } from './ledger-entries.read-model.ts';
import { entryListResponse, type LedgerEntryJson, listEntriesQuery } from './ledger-entries.schema.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';

const TIME_PART = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

/** `/admin/v1/ledger/entries`. */
export function ledgerEntryRoutes(entries: LedgerEntriesReadModel): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/ledger/entries',
      operationId: 'listLedgerEntries',
      summary: 'List the entries of all accounts in a period, by account and time',
      query: listEntriesQuery,
      response: { status: 200, schema: entryListResponse },
      errors: ['invalid_cursor'],
      async handle({ query, url }) {
        const { start_time: from = null, end_time: before = null, limit, cursor } = query;
        checkOrder(query);
        const after =
          cursor === undefined ? undefined : decodeCursor(cursor, [UUID_PART, TIME_PART, INTEGER_PART]);
        const rows = await entries.list(from, before, after, limit + 1, query.booked_by === 'operators');
        const page = cutPage(rows, limit, (row) => [row.account_id, row.at_text, row.seq]);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentLedgerEntry) } };
      },
    }),
  ];
}

export function presentLedgerEntry(row: LedgerEntryRow): LedgerEntryJson {
  return {
    ...presentTransaction(row, row.account_id),
    account_id: publicId('account', row.account_id),
    seq: Number(row.seq),
    actor: row.actor,
    request_id: row.call_id ? requestIdOfCall(row.call_id, row.request_id) : row.request_id,
    payment_id: row.payment_id,
  };
}

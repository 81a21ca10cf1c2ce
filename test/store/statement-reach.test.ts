import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { functionFiles } from '../../migrations/functions.ts';
import { INVARIANTS } from '../../src/ledger/invariants.sql.ts';
import { NIGHTLY_INVARIANTS } from '../../src/ledger/nightly-proof.sql.ts';
import { HOME_TABLES } from '../../src/store/home-tables.ts';
import { namedStatements } from './named-statements.ts';
import type { Columns } from './statement-ranges.ts';
import { type Reach, reachOf, reachOfFunctions } from './statement-reach.ts';

/**
 * The rows of an account are in one cell, those of the installation in its home database. A statement that needs rows of several
 * accounts runs once per cell. One that needs both places cannot run once they are separate databases. Both kinds are listed here with
 * the reason.
 */

const SCHEMA = fileURLToPath(new URL('../../migrations/schema.sql', import.meta.url));

const SEVERAL_ACCOUNTS = {
  'batches, divided by cell before they are sent': [
    'console_live_facts',
    'find_key_facts',
    'keep_payment_moves',
    'mark_keys_used',
    'remote_held_runs',
    'task_claim',
    'task_find_ended',
    'task_list_outputs',
    'task_mark_generated',
    'task_mark_media_deleted',
    'task_put_back',
    'task_renew_leases',
    'task_store_references',
    'webhook_list_tries',
    'webhook_put_back',
  ],
  'chores that run over a whole cell': [
    'alerts_delete_old',
    'book_roots_of_accounts',
    'book_roots_unlike',
    'console_session_insert',
    'expire_checkout_sessions',
    'idempotency_expire',
    'invitation_insert',
    'ledger_accounts_to_check',
    'ledger_accounts_to_close',
    'ledger_accounts_to_seal',
    'ledger_documents_unlike_issued',
    'ledger_expired_holds',
    'ledger_remember_proven',
    'ledger_rollups_unlike_entries',
    'ledger_statements_to_prove',
    'ledger_statements_to_reprove',
    'ledger_walk_slices',
    'nightly_accounts_to_prove',
    'nightly_calls_unlike_entries',
    'nightly_place_proofs',
    'payment_moves_seen',
    'payment_moves_without_payout',
    'stale_checkout_sessions',
    'task_delete_old',
    'task_find_canceling',
    'task_find_expired_media',
    'task_find_overdue',
    'task_find_unlisted',
    'task_lapse_leases',
    'task_move',
    'task_prefer_loaded',
    'task_queue_by_account',
    'task_take_generated',
    'task_take_queued',
    'task_count_waiting',
    'task_typical_duration',
    'usage_accounts_to_roll_up',
    'webhook_list_secrets',
    'webhook_take',
  ],
  'a person who may be a member of several accounts': ['member_besides', 'member_of_person'],
  'numbers of documents, without gaps across all accounts': ['next_document_number'],
  'what operators see of all accounts': [
    'account_by_name',
    'accounts_for_credits',
    'accounts_by_balance',
    'accounts_by_last_use',
    'accounts_by_usage',
    'accounts_page',
    'aged_debts',
    'all_ledger_entries',
    'any_account',
    'cost_rows',
    'deferred_revenue',
    'fleet_pace_of_pools',
    'fleet_providers',
    'fleet_silent_workers',
    'margin_rows',
    'operator_deliveries_page',
    'operator_queue_standings',
    'operator_tasks_page',
    'payouts',
    'search_accounts_named',
    'search_charges_of_request',
    'search_checkouts',
    'search_document',
    'search_generations_of_request',
    'search_keys',
    'telemetry_live_tasks',
    'telemetry_open_holds',
    'telemetry_pending_deliveries',
    'telemetry_statements_due',
    'telemetry_unbooked_reversals',
    'telemetry_write_offs',
    'write_offs_by_month',
  ],
  'a month of all calls of a cell, stored in a file': [
    'archive_mark',
    'archive_remember_export',
    'archived_months_since',
    'archives_of_calls',
    'margin_archived_months',
    'operator_archived_month_at',
  ],
  'proofs of one account or of all': [
    ...new Set([...INVARIANTS, ...NIGHTLY_INVARIANTS].map(({ name }) => name)),
  ],
};

const BOTH_PLACES = {
  'the prices a call was charged at, of which every cell keeps a copy': [
    'generation_by_id',
    'generation_by_request',
    'generations_page',
  ],
  'entries and the audit log are sealed in the same way': [
    'invariant_entries_as_sealed',
    'invariant_statements_and_audit_as_sealed',
  ],
  'whether another host serves the pool': ['task_claim'],
  'how far the payment provider was read, and what still waits for a payout': ['payment_moves_seen'],
  'what waits, next to the workers that serve it': ['fleet_silent_workers', 'operator_queue_standings'],
};

const FUNCTIONS_OF_SEVERAL_ACCOUNTS = {
  'batches, divided by cell before they are sent': [
    'ledger_add_billed_runs',
    'ledger_cover',
    'ledger_end_tasks',
    'ledger_renew',
    'ledger_reserve',
    'ledger_settle',
    'ledger_write_holds',
    'ledger_write_settled',
  ],
  'chores that run over a whole cell': ['forget_api_keys', 'tell_alerts', 'total_write_offs'],
  'a month of all calls of a cell, stored in a file': ['call_is_archived', 'calls_needed'],
};

const FUNCTIONS_OF_BOTH_PLACES = {
  'an operation and its row in the audit log are one': [
    'change_account',
    'change_api_key',
    'create_api_key',
    'erase_account',
    'join_account',
    'ledger_adjust',
    'ledger_clear_debt',
    'ledger_follow_payment',
    'ledger_refund_charge',
    'ledger_reverse_payment',
    'open_customer',
    'reissue_statements',
    'remove_member',
  ],
};

const CLOCKS = ['clock_timestamp', 'gen_random_uuid', 'ledger_now', 'now', 'random', 'timeofday'];

/** Returns the columns by table, as created by the migrations. */
function readSchema(): Columns {
  const columns = new Map<string, Set<string>>();
  let table: Set<string> | undefined;
  for (const line of readFileSync(SCHEMA, 'utf8').split('\n')) {
    const name = /^TABLE (\w+)/.exec(line)?.[1];
    if (name !== undefined) {
      table = new Set();
      columns.set(name, table);
    } else if (line === '') {
      table = undefined;
    } else {
      const column = /^ {2}([a-z_0-9]+) [a-z]/.exec(line)?.[1];
      if (column !== undefined) {
        table?.add(column);
      }
    }
  }
  return columns;
}

const columns = readSchema();
const accountTables = new Set([...columns.keys()].filter((table) => !HOME_TABLES.includes(table)));

let reaches: Map<string, Reach>;
let functions: Map<string, Reach>;

beforeAll(async () => {
  const statements = await namedStatements();
  const read = await Promise.all(statements.map(({ text }) => reachOf(text, columns, accountTables)));
  reaches = new Map(statements.map(({ name }, index) => [name, read[index] as Reach]));
  const files = await Promise.all(
    functionFiles().map(({ sql }) => reachOfFunctions(sql, columns, accountTables)),
  );
  functions = new Map(files.flatMap((file) => [...file]));
});

function namesOf(predicate: (reach: Reach) => boolean, of = reaches): string[] {
  return [...of]
    .filter(([, reach]) => predicate(reach))
    .map(([name]) => name)
    .sort();
}

/** Returns the tables of a statement or function and of the functions that it calls. */
function tablesOf(reach: Reach, seen = new Set<Reach>()): Set<string> {
  seen.add(reach);
  const called = [...reach.functions]
    .map((name) => functions.get(name))
    .filter((each) => each !== undefined)
    .filter((each) => !seen.has(each));
  return new Set([...reach.tables, ...called.flatMap((each) => [...tablesOf(each, seen)])]);
}

function isOfBothPlaces(tables: ReadonlySet<string>): boolean {
  const known = [...tables].filter((table) => columns.has(table));
  return new Set(known.map((table) => HOME_TABLES.includes(table))).size > 1;
}

const listed = (groups: Readonly<Record<string, readonly string[]>>): string[] =>
  Object.values(groups).flat().sort();

test('only the listed statements touch several accounts', () => {
  expect(namesOf(({ unheld }) => unheld.size > 0)).toEqual(listed(SEVERAL_ACCOUNTS));
});

test('only the listed statements need an account and the installation at once', () => {
  expect(namesOf(({ tables }) => isOfBothPlaces(tables))).toEqual(listed(BOTH_PLACES));
});

test('the same holds for database functions', () => {
  expect(namesOf(({ unheld }) => unheld.size > 0, functions)).toEqual(listed(FUNCTIONS_OF_SEVERAL_ACCOUNTS));
  expect(namesOf((reach) => isOfBothPlaces(tablesOf(reach)), functions)).toEqual(
    listed(FUNCTIONS_OF_BOTH_PLACES),
  );
});

test('no writing statement calls a clock or a random function per row', () => {
  expect(namesOf(({ writes, functions }) => writes && CLOCKS.some((name) => functions.has(name)))).toEqual(
    [],
  );
});

test('every account table has a column that identifies the account', () => {
  const nameless = [...accountTables].filter((table) => !columns.get(table)?.has('account_id'));
  expect(nameless).toEqual(['accounts', 'call_archives', 'write_off_totals']);
});

describe('what limits a statement to one account', () => {
  const unheld = async (text: string) => [...(await reachOf(text, columns, accountTables)).unheld];

  test.each([
    'SELECT * FROM holds WHERE account_id = $1',
    'SELECT * FROM holds h JOIN balances b USING (account_id) WHERE b.account_id = $1::uuid',
    'SELECT * FROM tasks t LEFT JOIN task_outputs o ON o.task_id = t.id WHERE t.id = $1',
    'WITH one AS (SELECT id FROM tasks WHERE id = $1) DELETE FROM webhook_deliveries w USING one WHERE w.task_id = one.id',
    'SELECT (SELECT sum(amount) FROM ledger_entries e WHERE e.account_id = a.id) FROM accounts a WHERE a.id = $1',
    'INSERT INTO webhook_tries (delivery_id, account_id, try) VALUES ($1, $2, 1)',
    'UPDATE invoices SET status = $2 WHERE (account_id, period_start) = ($1, $3)',
  ])('%s', async (text) => {
    expect(await unheld(text)).toEqual([]);
  });

  test('variables of a function do', async () => {
    const made = (body: string) =>
      `CREATE FUNCTION f(account uuid) RETURNS void LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`;
    const loose = 'UPDATE balances b SET held = 0; PERFORM 1 FROM holds h WHERE h.account_id = account;';
    const read = async (body: string) =>
      (await reachOfFunctions(made(body), columns, accountTables)).get('f');
    expect([...((await read(loose))?.unheld ?? [])]).toEqual(['balances']);
    expect([...((await read('DELETE FROM holds h WHERE h.account_id = account;'))?.unheld ?? [])]).toEqual(
      [],
    );
  });

  test.each([
    ['SELECT * FROM holds', ['holds']],
    ['SELECT * FROM holds WHERE account_id = ANY ($1::uuid[])', ['holds']],
    ['SELECT * FROM holds WHERE account_id = $1 OR amount > 0', ['holds']],
    ['SELECT * FROM holds WHERE $1::uuid IS NULL OR account_id = $1', ['holds']],
    ['SELECT * FROM balances b, holds h WHERE b.account_id = $1', ['holds']],
    ['SELECT * FROM balances b JOIN holds h ON h.amount = b.held WHERE b.account_id = $1', ['holds']],
    ['DELETE FROM tasks WHERE completed_at < $1', ['tasks']],
    ['SELECT 1 WHERE EXISTS (SELECT FROM tasks WHERE state = $1)', ['tasks']],
    [
      'INSERT INTO task_events (task_id, account_id) SELECT id, account_id FROM tasks',
      ['task_events', 'tasks'],
    ],
    ['SELECT * FROM unnest($1::uuid[]) u (id) JOIN tasks t ON t.id = u.id', ['tasks']],
    ['SELECT id FROM tasks WHERE id = $1 UNION SELECT id FROM tasks', ['tasks']],
  ])('nothing limits %s', async (text, tables) => {
    expect((await unheld(text)).sort()).toEqual(tables);
  });
});

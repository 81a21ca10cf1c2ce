import { parse } from 'libpg-query';
import { namedStatements } from './named-statements.ts';
import type { Node } from './statement-ranges.ts';

type SqlText = Awaited<ReturnType<typeof namedStatements>>[number];

/**
 * A router of several databases computes the time once and passes the value on. It rejects a write that calls for the time where the
 * call is conditional (CASE, COALESCE), for each returned row, or in a conflict action. There a write takes the time from a row of its
 * own (`FROM (SELECT statement_timestamp() AS at OFFSET 0) n`), from its CTE, or from `excluded`.
 */

const TIME = /"sval":"(statement_timestamp|transaction_timestamp|clock_timestamp|now|ledger_now)"/;

/** Returns all nodes of a kind in a tree. */
function nodesOf(tree: Node, kind: string): Node[] {
  if (typeof tree !== 'object' || tree === null) {
    return [];
  }
  const below = Object.values(tree).flatMap((node) => nodesOf(node, kind));
  return tree[kind] === undefined ? below : [tree[kind], ...below];
}

async function timeIn(text: string): Promise<string[]> {
  const tree = await parse(text);
  const asks = (node: Node) => TIME.test(JSON.stringify(node ?? null));
  const updates = nodesOf(tree, 'UpdateStmt');
  const set = updates.flatMap(({ targetList }) =>
    ['CoalesceExpr', 'CaseExpr'].flatMap((kind) => nodesOf(targetList, kind)),
  );
  const writes = [...updates, ...nodesOf(tree, 'InsertStmt'), ...nodesOf(tree, 'DeleteStmt')];
  return [
    ...(set.some(asks) ? ['where it may not be asked for'] : []),
    ...(writes.some(({ returningList, returningClause }) => asks([returningList, returningClause]))
      ? ['for each row that comes back']
      : []),
    ...(writes.some(({ onConflictClause }) => asks(onConflictClause)) ? ['in what a conflict does'] : []),
  ];
}

let statements: SqlText[];

beforeAll(async () => {
  statements = await namedStatements();
});

test('no writing statement asks for the time where a router rejects it', async () => {
  const found = await Promise.all(
    statements.map(async ({ name, text }) => (await timeIn(text)).map((where) => `${name}: ${where}`)),
  );
  expect(found.flat()).toEqual([]);
});

test.each([
  ['UPDATE t SET a = coalesce(a, now())', ['where it may not be asked for']],
  ['WITH u AS (UPDATE t SET a = CASE WHEN b THEN now() END) SELECT', ['where it may not be asked for']],
  ['UPDATE t SET a = b RETURNING now() - a', ['for each row that comes back']],
  ['INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = now()', ['in what a conflict does']],
  ['UPDATE t SET a = coalesce(a, n.at) FROM (SELECT now() AS at OFFSET 0) n RETURNING n.at - a', []],
])('%s', async (text, where) => {
  expect(await timeIn(text)).toEqual(where);
});

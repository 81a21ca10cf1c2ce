import { parse, parsePlPgSQL } from 'libpg-query';
import { StatementAnalysis } from './statement-analysis.ts';
import type { Columns, Node } from './statement-ranges.ts';

/** What a statement or function touches. */
export interface Reach {
  readonly tables: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
  /** Whether it changes rows. */
  readonly writes: boolean;
  /** Account tables that no parameter limits to one account. */
  readonly unheld: ReadonlySet<string>;
}

/**
 * Returns what a statement touches. `accountTables` are the tables whose rows belong to accounts. Throws for text that Postgres cannot
 * parse.
 */
export function reachOf(text: string, columns: Columns, accountTables: ReadonlySet<string>): Promise<Reach> {
  return reachOfAll([text], columns, accountTables, false);
}

/**
 * Returns what each function of a file touches with its own statements, by name. Its variables count as parameters. `functions`
 * contains the functions it calls, but not what those call. Throws for text that Postgres cannot parse.
 */
export async function reachOfFunctions(
  file: string,
  columns: Columns,
  accountTables: ReadonlySet<string>,
): Promise<Map<string, Reach>> {
  const reaches = new Map<string, Reach>();
  const tree = await parse(file);
  for (const { stmt, stmt_location: start = 0, stmt_len: length } of tree.stmts as Node[]) {
    const made = stmt.CreateFunctionStmt;
    if (made) {
      const option = (name: string) =>
        made.options.find(({ DefElem }: Node) => DefElem.defname === name)?.DefElem.arg;
      const isPlain = option('language').String.sval === 'sql';
      // offsets are in bytes
      const whole = Buffer.from(file)
        .subarray(start, length && start + length)
        .toString();
      // the parser does not know our types
      const text = whole.replaceAll(/\w+\[\]/g, 'integer[]');
      const bodies: string[] = isPlain ? sqlBody(option('as')) : statementsIn(await parsePlPgSQL(text));
      const name = made.funcname.at(-1).String.sval;
      reaches.set(name, await reachOfAll(bodies, columns, accountTables, true));
    }
  }
  return reaches;
}

/** Returns no statements for a body that is an expression inlined into its callers. */
function sqlBody(body: Node): string[] {
  return body ? body.List.items.map((item: Node) => item.String.sval) : [];
}

/** Returns all statements and expressions in a PL/pgSQL body. */
function statementsIn(node: Node): string[] {
  if (typeof node !== 'object' || node === null) {
    return [];
  }
  const { query, parseMode } = node.PLpgSQL_expr ?? {};
  if (query === undefined) {
    return Object.values(node).flatMap(statementsIn);
  }
  // mode 2 is an expression, and modes 3 and above assign an expression to the variable before it
  const expression = parseMode >= 3 ? query.slice(query.search(/:?=/)).replace(/^:?=/, '') : query;
  return [parseMode === 0 ? query : `SELECT ${expression}`];
}

async function reachOfAll(
  texts: readonly string[],
  columns: Columns,
  accountTables: ReadonlySet<string>,
  hasVariables: boolean,
): Promise<Reach> {
  const reach = {
    tables: new Set<string>(),
    functions: new Set<string>(),
    writes: false,
    unheld: new Set<string>(),
  };
  for (const text of texts) {
    const analysis = new StatementAnalysis(columns, hasVariables);
    for (const { stmt } of (await parse(text)).stmts as Node[]) {
      analysis.statement(stmt, []);
    }
    addAll(reach.tables, analysis.tables);
    addAll(reach.functions, analysis.functions);
    addAll(reach.unheld, analysis.unheld(accountTables));
    reach.writes ||= analysis.writes;
  }
  return reach;
}

function addAll(to: Set<string>, names: ReadonlySet<string>): void {
  for (const name of names) {
    to.add(name);
  }
}

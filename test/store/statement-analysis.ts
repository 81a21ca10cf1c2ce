import { type Columns, EqualNames, type Node, type Range, type Scope } from './statement-ranges.ts';

/** Columns that identify the account of a row: the account itself, and ids that belong to one account. */
const OWNER_COLUMN =
  /^(account_id|id|api_key_id|generation_id|task_id|delivery_id|document_id|reference|reverses|purchase_reference|hash|token_hash)$/;

const PARAMETER = 'parameter';

/**
 * Analyzes statements and collects what they touch. A table is limited to one account when an equality connects it to a parameter,
 * directly or through columns that can only belong to the same account.
 */
export class StatementAnalysis {
  readonly #columns: Columns;
  readonly #hasVariables: boolean;
  readonly #equals = new EqualNames();
  readonly #ranges: Range[] = [];
  readonly tables = new Set<string>();
  readonly functions = new Set<string>();
  writes = false;

  /** `hasVariables`: a name that is not a column is a variable of the function that contains the statement. */
  constructor(columns: Columns, hasVariables: boolean) {
    this.#columns = columns;
    this.#hasVariables = hasVariables;
  }

  unheld(accountTables: ReadonlySet<string>): Set<string> {
    const held = new Set<Range>();
    const isHeld = (column: string) =>
      this.#equals.representative(column) === this.#equals.representative(PARAMETER);
    for (let found = true; found; ) {
      found = false;
      for (const range of this.#ranges) {
        const owners = [...(range.columns ?? [])]
          .filter((name) => OWNER_COLUMN.test(name))
          .map((name) => `${range.key}.${name}`);
        if (!held.has(range) && owners.some(isHeld)) {
          held.add(range);
          found = true;
          // a row has one account, so its other owner columns identify the same one
          for (const owner of owners) {
            this.#equals.join(owner, PARAMETER);
          }
        }
      }
    }
    const loose = this.#ranges.filter(
      (range) => range.table !== undefined && accountTables.has(range.table) && !held.has(range),
    );
    return new Set(loose.map((range) => range.table as string));
  }

  /** Analyzes a statement. Returns the source of each column of its result. */
  statement(node: Node, outer: readonly Scope[]): Map<string, string> {
    const [kind, body] = Object.entries<Node>(node)[0] as [string, Node];
    const scope: Scope = new Map();
    const scopes = [scope, ...outer];
    this.writes ||= kind !== 'SelectStmt';
    for (const { CommonTableExpr: cte } of body.withClause?.ctes ?? []) {
      const range = this.#derived(cte.ctename, new Map());
      scope.set(`with ${cte.ctename}`, range);
      const outputs = this.statement(cte.ctequery, scopes);
      const names: string[] = (cte.aliascolnames ?? []).map((name: Node) => name.String.sval);
      const made = [...outputs.values()];
      const renamed =
        names.length > 0 ? new Map(names.map((name, index) => [name, made[index] ?? ''])) : outputs;
      for (const [name, column] of renamed) {
        (range.outputs as Map<string, string>).set(name, column);
        this.#equals.join(`${range.key}.${name}`, column);
      }
    }
    if (kind === 'SelectStmt' && body.larg) {
      const left = this.statement({ SelectStmt: body.larg }, scopes);
      this.statement({ SelectStmt: body.rarg }, scopes);
      return left;
    }
    if (body.relation) {
      this.#range({ RangeVar: body.relation }, scopes, kind !== 'InsertStmt');
    }
    for (const item of [...(body.fromClause ?? []), ...(body.usingClause ?? [])]) {
      this.#range(item, scopes, true);
    }
    const outputs = new Map<string, string>();
    for (const [index, { ResTarget: target }] of (body.targetList ?? []).entries()) {
      this.#outputs(target, index, scopes, outputs);
    }
    this.#where(body.whereClause, scopes);
    if (kind === 'InsertStmt') {
      this.#insert(body, scopes);
    }
    for (const { ResTarget: target } of body.returningClause?.exprs ?? body.returningList ?? []) {
      this.#outputs(target, outputs.size, scopes, outputs);
    }
    for (const rest of [
      body.havingClause,
      body.limitCount,
      ...(body.valuesLists ?? []),
      ...(body.groupClause ?? []),
      ...(body.sortClause ?? []),
      ...(body.windowClause ?? []),
    ]) {
      this.#expression(rest, scopes);
    }
    return outputs;
  }

  /** An inserted row belongs to one account when its values do: a parameter, or a column of a row that belongs to one. */
  #insert(body: Node, scopes: readonly Scope[]): void {
    const target = body.relation.alias?.aliasname ?? body.relation.relname;
    const range = scopes[0]?.get(target);
    const select = body.selectStmt?.SelectStmt;
    const isOneRow = select?.valuesLists !== undefined;
    const made = isOneRow ? new Map() : this.statement(body.selectStmt, scopes);
    if (isOneRow) {
      for (const list of select.valuesLists) {
        this.#expression(list, scopes);
      }
    }
    const names: string[] = (body.cols ?? []).map((column: Node) => column.ResTarget.name);
    const columns = names.length > 0 ? names : [...(range?.columns ?? [])];
    const sources = [...made.values()];
    for (const [index, name] of columns.entries()) {
      const source = isOneRow ? PARAMETER : sources[index];
      if (range && source) {
        this.#equals.join(`${range.key}.${name}`, source);
      }
    }
    for (const { ResTarget: set } of body.onConflictClause?.targetList ?? []) {
      this.#expression(set.val, scopes);
    }
  }

  #outputs(target: Node, index: number, scopes: readonly Scope[], outputs: Map<string, string>): void {
    const fields = target.val?.ColumnRef?.fields;
    if (fields?.at(-1)?.A_Star !== undefined) {
      const ranges =
        fields.length === 1 ? [...(scopes[0]?.values() ?? [])] : [this.#find(fields[0].String.sval, scopes)];
      for (const range of ranges) {
        for (const name of range?.columns ?? range?.outputs.keys() ?? []) {
          outputs.set(name, `${range?.key}.${name}`);
        }
      }
      return;
    }
    const column = this.#column(target.val, scopes);
    const name =
      target.name ??
      fields?.at(-1)?.String?.sval ??
      target.val?.FuncCall?.funcname.at(-1).String.sval ??
      `column ${index}`;
    outputs.set(name, column ?? `nothing ${name} ${index}`);
    this.#expression(target.val, scopes);
  }

  #range(item: Node, scopes: readonly Scope[], isRead: boolean): void {
    const [kind, body] = Object.entries<Node>(item)[0] as [string, Node];
    const scope = scopes[0] as Scope;
    if (kind === 'JoinExpr') {
      this.#range(body.larg, scopes, true);
      this.#range(body.rarg, scopes, true);
      for (const name of body.usingClause ?? []) {
        const both = [...scope.values()].filter((range) => this.#has(range, name.String.sval));
        for (const range of both) {
          this.#equals.join(`${both[0]?.key}.${name.String.sval}`, `${range.key}.${name.String.sval}`);
        }
      }
      this.#where(body.quals, scopes);
      return;
    }
    const alias = body.alias?.aliasname;
    if (kind === 'RangeVar') {
      const cte = scopes.map((each) => each.get(`with ${body.relname}`)).find((range) => range !== undefined);
      const range = cte ? this.#derived(body.relname, cte.outputs) : this.#table(body.relname, isRead);
      scope.set(alias ?? body.relname, range);
      return;
    }
    if (kind === 'RangeSubselect') {
      scope.set(alias, this.#derived(alias, this.statement(body.subquery, scopes)));
      return;
    }
    this.#expression(body, scopes);
    // an array parameter has many rows, so nothing limits what is joined to it
    const names: string[] = (body.alias?.colnames ?? []).map((name: Node) => name.String.sval);
    const columns =
      names.length > 0 ? names : (body.coldeflist ?? []).map((column: Node) => column.ColumnDef.colname);
    scope.set(
      alias ?? 'function',
      this.#derived(
        alias ?? 'function',
        new Map(columns.map((name: string) => [name, `many ${this.#ranges.length} ${name}`])),
      ),
    );
  }

  /** Records the equalities that hold for every touched row. */
  #where(node: Node, scopes: readonly Scope[]): void {
    if (node?.BoolExpr?.boolop === 'AND_EXPR') {
      for (const part of node.BoolExpr.args) {
        this.#where(part, scopes);
      }
      return;
    }
    const equality = node?.A_Expr;
    if (equality?.kind === 'AEXPR_OP' && equality.name[0].String.sval === '=') {
      const [left, right] = [equality.lexpr, equality.rexpr].map((side) => side.RowExpr?.args ?? [side]);
      for (const [index, side] of left.entries()) {
        const [one, other] = [this.#column(side, scopes), this.#column(right[index], scopes)];
        if (one !== undefined && other !== undefined) {
          this.#equals.join(one, other);
        }
      }
    }
    this.#expression(node, scopes);
  }

  /** Visits an expression: subqueries are analyzed as statements of their own, and function names are recorded. */
  #expression(node: Node, scopes: readonly Scope[]): void {
    if (Array.isArray(node)) {
      for (const part of node) {
        this.#expression(part, scopes);
      }
    } else if (typeof node === 'object' && node !== null) {
      if (node.SelectStmt) {
        this.statement(node, scopes);
        return;
      }
      if (node.SubLink?.testexpr && node.SubLink.subLinkType === 'ANY_SUBLINK') {
        this.#expression(node.SubLink.testexpr, scopes);
      }
      if (node.FuncCall) {
        this.functions.add(node.FuncCall.funcname.at(-1).String.sval);
      }
      for (const part of Object.values(node)) {
        this.#expression(part, scopes);
      }
    }
  }

  /** Returns the column or parameter that an expression consists of, through casts, or undefined for anything else. */
  #column(node: Node, scopes: readonly Scope[]): string | undefined {
    if (node?.TypeCast) {
      return node.TypeCast.typeName.arrayBounds ? undefined : this.#column(node.TypeCast.arg, scopes);
    }
    if (node?.ParamRef) {
      return PARAMETER;
    }
    if (node?.SubLink?.subLinkType === 'EXPR_SUBLINK') {
      return [...this.statement(node.SubLink.subselect, scopes).values()][0];
    }
    const fields = node?.ColumnRef?.fields;
    if (!fields || fields.at(-1).A_Star) {
      return undefined;
    }
    const name: string = fields.at(-1).String.sval;
    const range =
      fields.length > 1
        ? this.#find(fields.at(-2).String.sval, scopes)
        : scopes
            .map(
              (scope) =>
                [...scope.entries()].find(
                  ([key, each]) => !key.startsWith('with ') && this.#has(each, name),
                )?.[1],
            )
            .find((each) => each !== undefined);
    return range ? `${range.key}.${name}` : this.#hasVariables ? PARAMETER : undefined;
  }

  #find(alias: string, scopes: readonly Scope[]): Range | undefined {
    return scopes.map((scope) => scope.get(alias)).find((range) => range !== undefined);
  }

  #has(range: Range, name: string): boolean {
    return range.columns?.has(name) === true || range.outputs.has(name);
  }

  #table(name: string, isRead: boolean): Range {
    this.tables.add(name);
    const range = {
      key: `${name} ${this.#ranges.length}${isRead ? '' : ' written'}`,
      table: name,
      outputs: new Map(),
      columns: this.#columns.get(name) ?? new Set<string>(),
    };
    this.#ranges.push(range);
    return range;
  }

  #derived(name: string, outputs: ReadonlyMap<string, string>): Range {
    const range = { key: `${name} ${this.#ranges.length}`, table: undefined, outputs, columns: undefined };
    this.#ranges.push(range);
    for (const [column, source] of outputs) {
      this.#equals.join(`${range.key}.${column}`, source);
    }
    return range;
  }
}

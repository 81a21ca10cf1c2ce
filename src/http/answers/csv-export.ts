import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { csvLine, inert } from '../../lib/csv.ts';
import { invariant } from '../../lib/errors.ts';
import type { Route, RouteContext } from '../route.ts';

type Context = RouteContext<never, unknown, unknown, unknown>;
type Row = Readonly<Record<string, unknown>>;

/** Rows per page while a list is exported. The caller's `limit` is ignored: a CSV file has no pages. */
const ROWS = 1_000;
const AMOUNT = /^-?\d+(\.\d+)?$/;

/**
 * Makes a list available as CSV with `Accept: text/csv`: every row from the cursor on, with the members of the row schema. Members of
 * nested objects become columns of their own. One page is held in memory at a time.
 */
export function exportable(route: Route): Route {
  const columns = columnsOf(rowOf(route));
  return {
    ...route,
    response: {
      ...route.response,
      mediaTypes: ['application/json', 'text/csv'],
      headers: { ...route.response.headers, 'Content-Disposition': 'For CSV: the file name' },
    },
    async handle(context) {
      const { response } = context;
      if (response.req.accepts(['application/json', 'text/csv']) !== 'text/csv') {
        return route.handle(context);
      }
      // before anything is sent, so that a rejected filter is answered like anywhere else
      const first = await pageOf(route, context, undefined);
      response.setHeader('Content-Type', 'text/csv; charset=utf-8');
      response.setHeader('Content-Disposition', `attachment; filename="${route.path.split('/').at(-1)}.csv"`);
      await pipeline(Readable.from(linesOf(route, context, columns, first)), response);
      return undefined;
    },
  };
}

interface RowPage {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

async function pageOf(route: Route, context: Context, cursor: string | undefined): Promise<RowPage> {
  const query = { ...(context.query as object), limit: ROWS, ...(cursor !== undefined && { cursor }) };
  const reply = await route.handle({ ...context, query });
  invariant(reply, `${route.operationId} answers with rows`);
  const { data } = reply.body as { readonly data: readonly Row[] };
  return { rows: data, next: cursorOf(reply.headers?.Link) };
}

/** Returns the cursor of the next page from a `Link` header. */
function cursorOf(link: string | undefined): string | undefined {
  const [, address = ''] = /^<([^>]+)>; rel="next"$/.exec(link ?? '') ?? [];
  return new URLSearchParams(address.split('?')[1]).get('cursor') ?? undefined;
}

async function* linesOf(
  route: Route,
  context: Context,
  columns: readonly Column[],
  first: RowPage,
): AsyncGenerator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for (let page = first; ; page = await pageOf(route, context, page.next)) {
    yield page.rows.map((row) => csvLine(columns.map(({ path }) => cell(at(row, path))))).join('');
    if (page.next === undefined) {
      return;
    }
  }
}

interface Column {
  readonly name: string;
  readonly path: readonly string[];
}

function rowOf(route: Route): z.ZodObject {
  const { data } = (route.response.schema as z.ZodObject).shape;
  return (data as z.ZodArray).element as z.ZodObject;
}

/**
 * Lists the columns of a row: `usage.input_tokens` becomes `usage_input_tokens`, and the `value` of an amount takes the name of the
 * amount.
 */
function columnsOf(row: z.ZodObject, above: readonly string[] = []): Column[] {
  return Object.entries(row.shape).flatMap(([name, schema]) => {
    const path = [...above, name];
    const inner = unwrapped(schema as z.ZodType);
    if (inner instanceof z.ZodObject) {
      return columnsOf(inner, path);
    }
    return [{ name: path.filter((part) => part !== 'value').join('_'), path }];
  });
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodOptional
    ? unwrapped(schema.unwrap() as z.ZodType)
    : schema;
}

function at(row: Row, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) {
    return '';
  }
  if (typeof value === 'object') {
    return JSON.stringify(value);
  }
  const text = String(value);
  return AMOUNT.test(text) ? text : inert(text);
}

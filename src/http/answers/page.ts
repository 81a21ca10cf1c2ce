import { z } from 'zod';
import { encodeCursor } from './cursor.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

/** Number of rows per page, 1 to 1000. */
export const limitParameter = z
  .string()
  .regex(/^\d{1,4}$/, 'must be an integer')
  .transform(Number)
  .pipe(z.number().min(1).max(LIMIT_MAX))
  .meta({ type: 'integer', minimum: 1, maximum: LIMIT_MAX });

/** The query parameters of every list. */
export const pageQuery = {
  limit: limitParameter
    .default(LIMIT_DEFAULT)
    .meta({ type: 'integer', minimum: 1, maximum: LIMIT_MAX, description: 'Rows per page' }),
  cursor: z
    .string()
    .min(1)
    .max(400)
    .optional()
    .meta({ description: "Where the page starts, as given by the previous page's Link header" }),
};

export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Position of the last row; undefined on the last page. */
  readonly next: readonly string[] | undefined;
}

/** Cuts a list that was read with one extra row. The extra row shows that there is a next page. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
  position: (row: Row) => string[],
): Page<Row> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), next: last && position(last) };
}

/** Returns the `Link` header of a page (RFC 8288), relative to the request; empty on the last page. */
export function linkHeader(url: string, next: readonly string[] | undefined): Record<string, string> {
  if (!next) {
    return {};
  }
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', encodeCursor(next));
  return { Link: `<${path}?${parameters}>; rel="next"` };
}

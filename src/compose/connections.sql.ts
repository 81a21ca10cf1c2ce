import type { SqlStatement } from '../store/statement.ts';

/** → how many connections ordinary roles may open in total */
export const connectionsAllowed: SqlStatement = {
  name: 'connections_allowed',
  text: `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                - coalesce(current_setting('reserved_connections', true)::int, 0) AS most`,
};

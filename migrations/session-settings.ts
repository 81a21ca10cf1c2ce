/**
 * What every session needs, whatever the server, the database or the role has as a default. Another value would change results or end
 * connections: text of times that the driver reads as null, NULL in an array stored as a word, batches that fail for each other.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  // what the driver reads and writes, and what files of archived calls contain
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  // what our SQL means
  array_nulls: 'on',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  // guarded statements read again what another one just committed, and wait for nobody
  default_transaction_deferrable: 'off',
  default_transaction_isolation: 'read committed',
  // connections listen for hours, and a proof is one transaction of minutes; statements have limits of their own
  idle_session_timeout: '0',
  transaction_timeout: '0',
};

const ROWS = Object.entries(SETTINGS)
  .map(([name, value]) => `('${name}', '${value}')`)
  .join(', ');

/** An SQL expression that sets them for the session. A server that is too old for one of them goes without it. */
export const SESSION_SETTINGS = `(SELECT count(set_config(name, value, false)) FROM (VALUES ${ROWS}) s (name, value)
  WHERE current_setting(name, true) IS NOT NULL)`;

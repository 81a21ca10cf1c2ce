/** What a worker's statements read beside tasks: no balance, price, secret or session among it. */
const READ = [
  'task_outputs',
  'worker_slots',
  'workers',
  'worker_drains',
  'schema_migrations',
  'schema_functions',
  'api_keys (id, hash)',
  'ledger_checks',
];

/** Columns of a task that an attempt at it changes: not whose it is, what it asks for or what it costs. */
const ATTEMPT_COLUMNS = [
  'state',
  'attempt',
  'failures',
  'worker',
  'lease_until',
  'not_before',
  'dispatched_at',
  'engine',
  'engine_submitted_at',
  'engine_reference',
  'raw_outputs',
  'progress',
  'started_at',
  'base64_output',
  'generation_runs',
  'interruptions',
  'last_failure',
  'avoid_host',
  'avoid_until',
  'billed_runs',
  'engine_position',
  'passed_over_at',
];

/** The functions by which a task's end is booked: its charge, or the release of its hold. */
const SETTLING = ['ledger_settle(jsonb)', 'ledger_settle_few(jsonb)'];

/**
 * Grants for workers that run engines and finish files, on hosts that are trusted with nothing else: they claim, renew, give back and
 * settle tasks. The relay and the chores run elsewhere, as the application. No other function of the schema may be called, since most of them book money; what Postgres lets everybody call by
 * default is taken from everybody. Run after each migration, after the application's rights; idempotent.
 */
export function rightsOfWorker(workerRole: string, schema: string): string {
  const role = `"${workerRole.replaceAll('"', '""')}"`;
  const reads = READ.map((name) => {
    const [table, columns = ''] = name.split(' (', 2);
    return `GRANT SELECT${columns && ` (${columns}`} ON ${table} TO ${role};`;
  });
  return `
    REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${role};
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM ${role}, PUBLIC;
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role};
    GRANT SELECT, UPDATE (${ATTEMPT_COLUMNS.join(', ')}) ON tasks TO ${role};
    GRANT INSERT ON task_events TO ${role};
    GRANT INSERT, UPDATE, DELETE ON worker_slots, workers TO ${role};
    ${reads.join('\n    ')}
    GRANT EXECUTE ON FUNCTION ${SETTLING.join(', ')} TO ${role};
  `;
}

/**
 * Returns the command-line settings of the embedded Postgres: small machine, many short transactions, loopback only. As they are
 * passed on the command line, a new release can change them without touching the cluster's files.
 */
export function postgresSettings(port: number, durable = true): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    cluster_name: 'tollgate',
    max_connections: '200',
    shared_buffers: '128MB',
    // Balances and holds are updated thousands of times a minute, so dead rows must be removed quickly.
    autovacuum_naptime: '10s',
    max_wal_size: '1GB',
    random_page_cost: '1.1',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    logging_collector: 'off',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
    fsync: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
  };
  return ['-k', '', ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

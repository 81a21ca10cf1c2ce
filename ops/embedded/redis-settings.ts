/** Returns the configuration file of the embedded Redis: loopback only, no eviction (a queue must not lose jobs), append-only. */
export function redisSettings(options: {
  port: number;
  password: string;
  folder: string;
  durable: boolean;
}): string {
  return [
    'bind 127.0.0.1',
    `port ${options.port}`,
    `requirepass ${options.password}`,
    `dir ${JSON.stringify(options.folder)}`,
    'daemonize no',
    'protected-mode yes',
    'maxmemory-policy noeviction',
    `appendonly ${options.durable ? 'yes' : 'no'}`,
    'appendfsync everysec',
    // The append-only file is enough; snapshots would only cost disk space and a fork.
    'save ""',
    'loglevel notice',
    '',
  ].join('\n');
}

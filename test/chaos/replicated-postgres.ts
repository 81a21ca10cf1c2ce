import { execFile } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { type MovingAddress, startMovingAddress } from '../setup/moving-address.ts';
import { guardServices } from '../setup/test-services.ts';
import { withOwner } from './audit.ts';
import { type ChaosDatabase, createDatabase } from './services.ts';

const run = promisify(execFile);

/** A primary and its standby, behind an address that leads to the primary. */
export interface ReplicatedPostgres {
  readonly address: MovingAddress;
  createDatabase(): Promise<ChaosDatabase>;
  /**
   * Stops the primary cleanly, promotes the standby and starts the former primary as its standby. The address still leads to the former
   * primary.
   */
  switchOver(): Promise<void>;
  /** Points the address to the current primary, for new connections. */
  moveAddress(): void;
  close(): Promise<void>;
}

/** Starts both servers in their own folders below `folder`. */
export async function startReplicatedPostgres(folder: string): Promise<ReplicatedPostgres> {
  mkdirSync(folder, { recursive: true });
  // as root, the servers run as another user
  chmodSync(folder, 0o711);
  const release = guardServices(folder);
  const start = (name: string) =>
    startEmbeddedPostgres({
      dataDir: join(folder, name),
      durable: true,
      logFile: join(folder, `${name}.log`),
    });
  mkdirSync(join(folder, 'one'));
  let primary = { name: 'one', server: await start('one') };
  await primary.server.stop();
  await run('cp', ['-a', join(folder, 'one'), join(folder, 'two')]);
  changePort(join(folder, 'two'), await choosePort());
  primary = { name: 'one', server: await start('one') };
  const follow = async (name: string, leader: EmbeddedPostgres) => {
    const { username, password, port } = new URL(leader.ownerUrl);
    const cluster = join(folder, name, 'postgres');
    writeFileSync(join(cluster, 'standby.signal'), '');
    appendFileSync(
      join(cluster, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'\n`,
    );
    return { name, server: await start(name) };
  };
  let standby = await follow('two', primary.server);
  const address = await startMovingAddress(primary.server.port);
  return {
    address,
    createDatabase: () => createDatabase(primary.server.ownerUrl, primary.server.databaseUrl),
    switchOver: async () => {
      // waits until the standby has received everything
      await primary.server.stop();
      await withOwner(standby.server.ownerUrl, (client) => client.query('SELECT pg_promote()'));
      const former = primary.name;
      primary = standby;
      standby = await follow(former, primary.server);
    },
    moveAddress: () => address.move(primary.server.port),
    close: async () => {
      await address.close();
      await release();
    },
  };
}

function changePort(folder: string, port: number): void {
  const file = join(folder, 'postgres.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), port }));
}

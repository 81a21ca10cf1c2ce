import { spawnSync } from 'node:child_process';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { sweepTemporaryFiles, withTemporaryFolder } from '../../src/media/temporary-folder.ts';
import { testFolder } from './media-tools.ts';

describe('temporary folders', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;
  let base: string;

  beforeEach(async () => {
    folder = await testFolder();
    base = join(folder.path, 'work');
  });

  afterEach(() => folder?.remove());

  test('are removed after success and after failure', async () => {
    const result = await withTemporaryFolder(base, 'task-1', async (path) => {
      await writeFile(join(path, 'file'), 'x');
      return (await readdir(base)).length;
    });
    expect(result).toBe(1);
    const failing = withTemporaryFolder(base, '../../task', async (path) => {
      expect(path.startsWith(`${base}/`)).toBe(true);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await readdir(base)).toEqual([]);
  });

  test('are swept when their process is dead, but kept for living ones, other hosts and other containers', async () => {
    const hostLabel = hostname()
      .replace(/[^A-Za-z0-9-]/g, '-')
      .slice(0, 60);
    const [host = ''] = await withTemporaryFolder(base, 'own', async (path) => basename(path).split('.'));
    expect(host.startsWith(hostLabel)).toBe(true);
    const dead = spawnSync('true').pid;
    const run = '0123456789ab';
    const name = (owner: string, pid: number) => `${owner}.${pid}.${run}.task.abc`;
    const stale = [name(host, dead), name(host, process.pid), name('other-host', 5)];
    const otherContainer = name(`${hostLabel}-1`, dead);
    const kept = [name(host, process.ppid), name('another-host', dead), otherContainer, 'unrelated'];
    for (const entry of [...stale, ...kept]) {
      await mkdir(join(base, entry), { recursive: true });
    }
    const old = new Date(Date.now() - 25 * 3600_000);
    stale.push(name(host, dead).replace('task', 'file'));
    await writeFile(join(base, stale.at(-1)!), 'x');
    await utimes(join(base, name('other-host', 5)), old, old);
    await withTemporaryFolder(base, 'live', async (path) => {
      expect(await sweepTemporaryFiles(base, Date.now())).toBe(4);
      expect((await readdir(base)).sort()).toEqual([...kept, path.slice(base.length + 1)].sort());
    });
  });

  test('of the process that sweeps stay when the clock jumps ahead', async () => {
    await withTemporaryFolder(base, 'live', async (path) => {
      expect(await sweepTemporaryFiles(base, Date.now() + 400 * 24 * 3600_000)).toBe(0);
      expect(await readdir(base)).toEqual([basename(path)]);
    });
  });

  test('sweeps nothing when the base is missing', async () => {
    expect(await sweepTemporaryFiles(join(folder.path, 'absent'), Date.now())).toBe(0);
  });
});

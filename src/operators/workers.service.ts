import { AppError } from '../lib/errors.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorContext } from './operator-access.ts';
import type { HostsStore, WorkerRow } from './workers.store.ts';

/** The hosts that run workers. A drained host finishes its runs and takes no work, even after a restart, until it is resumed. */
export class WorkersService {
  readonly #hosts: Pick<HostsStore, 'list' | 'drain' | 'resume'>;
  readonly #audit: AuditStore;

  constructor(hosts: Pick<HostsStore, 'list' | 'drain' | 'resume'>, audit: AuditStore) {
    this.#hosts = hosts;
    this.#audit = audit;
  }

  list(): Promise<WorkerRow[]> {
    return this.#hosts.list();
  }

  /** Drains a host. Its workers notice within five seconds. Throws AppError worker_not_found for a host without a live worker. */
  async drain(host: string, act: OperatorContext): Promise<WorkerRow[]> {
    await this.#require(host);
    if (await this.#hosts.drain(host, act.operator)) {
      await this.#audit.append({ ...act, action: 'worker.drain', object: host, detail: {} });
    }
    return await this.#hosts.list(host);
  }

  /** Resumes a host. Throws AppError worker_not_found for a host that has no live worker and is not drained. */
  async resume(host: string, act: OperatorContext): Promise<WorkerRow[]> {
    await this.#require(host);
    if (await this.#hosts.resume(host)) {
      await this.#audit.append({ ...act, action: 'worker.resume', object: host, detail: {} });
    }
    return await this.#hosts.list(host);
  }

  async #require(host: string): Promise<void> {
    if ((await this.#hosts.list(host)).length === 0) {
      throw new AppError('worker_not_found', 'There is no live worker on a host with that name.');
    }
  }
}

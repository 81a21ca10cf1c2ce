import { AppError } from '../lib/errors.ts';
import { audited, type OperatorContext } from './operator-access.ts';
import type { HostsStore, WorkerRow } from './workers.store.ts';

/** The hosts that run workers. A drained host finishes its runs and takes no work, even after a restart, until it is resumed. */
export class WorkersService {
  readonly #hosts: Pick<HostsStore, 'list' | 'drain' | 'resume'>;

  constructor(hosts: Pick<HostsStore, 'list' | 'drain' | 'resume'>) {
    this.#hosts = hosts;
  }

  list(): Promise<WorkerRow[]> {
    return this.#hosts.list();
  }

  /** Drains a host. Its workers notice within five seconds. Throws AppError worker_not_found for a host without a live worker. */
  async drain(host: string, act: OperatorContext): Promise<WorkerRow[]> {
    await this.#require(host);
    await this.#hosts.drain(host, audited(act, 'worker.drain', host, {}));
    return await this.#hosts.list(host);
  }

  /** Resumes a host. Throws AppError worker_not_found for a host that has no live worker and is not drained. */
  async resume(host: string, act: OperatorContext): Promise<WorkerRow[]> {
    await this.#require(host);
    await this.#hosts.resume(host, audited(act, 'worker.resume', host, {}));
    return await this.#hosts.list(host);
  }

  async #require(host: string): Promise<void> {
    if ((await this.#hosts.list(host)).length === 0) {
      throw new AppError('worker_not_found', 'There is no live worker on a host with that name.');
    }
  }
}

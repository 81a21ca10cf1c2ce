import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Registry } from 'prom-client';
import { inTimeOrUndefined } from '../lib/deadline.ts';
import { mergeMetrics } from './merge-metrics.ts';
import type { Order, ProcessReport } from './messages.ts';

/** Tells a process which of several it is, from 1. Set for it, by nobody else. */
export const SLOT_VARIABLE = 'TOLLGATE_API_SLOT';

/** What writes metrics in Prometheus' form. */
export type MetricsSource = Pick<Registry, 'contentType' | 'metrics'>;

/** Until then the process that keeps the others has answered, in ms: it waits a second for each. */
const ANSWER_WITHIN_MS = 3_000;

/** The place of this process among several behind one port, and the way to whoever keeps them. */
export class ApiSlot {
  readonly number: number;
  readonly #orders = new EventEmitter<{ [Type in Order['type']]: [Extract<Order, { type: Type }>] }>();
  #asked: Promise<readonly string[] | undefined> | undefined;
  #question = 0;

  constructor(number: number) {
    this.number = number;
    process.on('message', (order: Order) => this.#orders.emit(order.type, order as never));
  }

  /**
   * From now on orders are followed, signals are not (a terminal and systemd send them to everybody, and the keeper passes them on once),
   * and this process ends in order when its keeper is gone: Node would end it at once.
   */
  follow(acts: { leave(): void; reload(): void }): void {
    this.#orders.on('leave', acts.leave);
    this.#orders.on('reload', acts.reload);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => undefined);
    }
    if (cluster.worker) {
      cluster.worker.exitedAfterDisconnect = true;
    }
  }

  /** Says that this process serves. */
  ready(address: string): void {
    tell({ type: 'ready', address });
  }

  /**
   * The metrics of all processes, each line with the label `process`. They are not summed: a process that is started again begins at 0, and
   * Prometheus would take a smaller sum for a new beginning of the whole; and a gauge of one process says nothing about two.
   */
  metricsOfAll(registry: Registry): MetricsSource {
    registry.setDefaultLabels({ process: String(this.number) });
    this.#orders.on('metrics', async ({ question }) => {
      tell({ type: 'metrics', question, text: await registry.metrics() });
    });
    return {
      contentType: registry.contentType,
      metrics: async () => mergeMetrics((await this.#askAll()) ?? [await registry.metrics()]),
    };
  }

  /** One question at a time: all who ask meanwhile get its answer. */
  #askAll(): Promise<readonly string[] | undefined> {
    this.#asked ??= inTimeOrUndefined(this.#ask(), ANSWER_WITHIN_MS).finally(() => {
      this.#asked = undefined;
      this.#orders.removeAllListeners('all-metrics');
    });
    return this.#asked;
  }

  #ask(): Promise<readonly string[]> {
    this.#question += 1;
    const mine = this.#question;
    return new Promise((resolve) => {
      this.#orders.on('all-metrics', ({ question, texts }) => {
        if (question === mine) {
          resolve(texts);
        }
      });
      tell({ type: 'all-metrics', question: mine });
    });
  }
}

/** Who is gone hears nothing. */
function tell(report: ProcessReport): void {
  if (process.connected) {
    process.send?.(report, undefined, undefined, () => undefined);
  }
}

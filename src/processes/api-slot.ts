import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Registry } from 'prom-client';
import { inTimeOrUndefined } from '../lib/deadline.ts';
import { mergeMetrics } from './merge-metrics.ts';
import type { Order, ProcessReport } from './messages.ts';

/** Environment variable with the number of an API process, from 1. Set only by the primary process. */
export const SLOT_VARIABLE = 'TOLLGATE_API_SLOT';

/** Source of metrics in Prometheus' text format. */
export type MetricsSource = Pick<Registry, 'contentType' | 'metrics'>;

/** Timeout of the primary process's answer, in ms. It waits a second for the other processes. */
const ANSWER_WITHIN_MS = 3_000;

/** The slot of this process among several behind one port, and its channel to the primary process. */
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
   * Starts following messages of the primary process and ignoring signals: a terminal and systemd send those to every process, and the
   * primary forwards them once. Also makes this process shut down cleanly when the primary is gone; Node would end it at once.
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

  /** Reports that this process is serving. */
  ready(address: string): void {
    tell({ type: 'ready', address });
  }

  /**
   * Returns the metrics of all processes, each line with the label `process`. They are not summed: a restarted process begins at 0, and
   * Prometheus would take a smaller sum for a reset of the whole; and a gauge of one process says nothing about two.
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

  /** Asks for the metrics of all processes, one question at a time. Concurrent callers share the answer. */
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

/** Sends a report to the primary process, unless that is gone. */
function tell(report: ProcessReport): void {
  if (process.connected) {
    process.send?.(report, undefined, undefined, () => undefined);
  }
}

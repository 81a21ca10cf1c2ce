import cluster, { type Worker } from 'node:cluster';
import { Registry } from 'prom-client';
import type { Logger } from '../lib/logger.ts';
import { shutDownOnce } from '../lib/shutdown.ts';
import { SLOT_VARIABLE } from './api-slot.ts';
import { createClusterMetrics } from './cluster-metrics.ts';
import type { Order, ProcessReport } from './messages.ts';
import { type Askable, MetricsCollector } from './metrics-collector.ts';
import { ProcessSupervisor, type StartProcess } from './process-supervisor.ts';
import { removeOldSocket } from './socket-file.ts';

export interface ClusterOptions {
  /** Number of processes, at least two. */
  readonly processes: number;
  /** Time until processes that were asked to stop are killed, in ms. */
  readonly shutdownMs: number;
  /** Path of the Unix socket that they listen on; null if none. */
  readonly listenSocket: string | null;
  readonly log: Logger;
}

/**
 * Runs several processes of this program behind one port and keeps them running. This process accepts connections and distributes them
 * round-robin: left to the kernel, keep-alive connections of proxies pile up at a few processes (38, 26, 0 and 0 of 64 in a run with four).
 * Forwards each signal to the processes once. Throws as {@link removeOldSocket} does if the socket's path is taken.
 */
export async function keepApiProcesses({
  processes,
  shutdownMs,
  listenSocket,
  log,
}: ClusterOptions): Promise<void> {
  if (listenSocket !== null) {
    // may be left over from a killed run; removed here because a restarted process must not remove the socket the others serve
    await removeOldSocket(listenSocket);
  }
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const serving = new Set<Askable>();
  const registry = new Registry();
  const crashes = createClusterMetrics(registry, () => serving.size);
  const start = starter(serving, new MetricsCollector(() => registry.metrics()));
  const keeper = new ProcessSupervisor(processes, start, {
    onReady: (address) => {
      log.info({ processes, address }, 'all API processes are serving');
      process.send?.({ type: 'ready', address } satisfies ProcessReport);
    },
    onCrash: ({ slot, how, pauseMs }) => {
      crashes.inc();
      log.error({ slot, pauseMs }, `API process ${slot} ${how}; starting it again`);
    },
    onFailure: ({ slot, how, code }) => {
      log.error({ slot }, `API process ${slot} ${how}; the command exits`);
      process.exit(code);
    },
  });
  const tellAll = (order: Order) => {
    for (const one of serving) {
      one.tell(order);
    }
  };
  process.on('SIGHUP', () => tellAll({ type: 'reload' }));
  shutDownOnce(shutdownMs, log, async () => {
    tellAll({ type: 'leave' });
    await keeper.leave();
  });
  process.on('exit', () => keeper.endRest());
  keeper.startAll();
}

function starter(serving: Set<Askable>, collector: MetricsCollector): StartProcess {
  return (slot, { onReady, onEnd }) => {
    const worker = cluster.fork({ [SLOT_VARIABLE]: String(slot) });
    const me = askable(worker);
    const closeUntaken = rememberConnections(worker);
    worker.on('message', (report: ProcessReport) => {
      if (report.type === 'ready') {
        serving.add(me);
        onReady(report.address);
      } else {
        collector.receive(me, report, [...serving]);
      }
    });
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) {
        onEnd(`could not be run (${error.message})`, 1);
      }
    });
    worker.once('exit', (code: number | null, signal: string | null) => {
      serving.delete(me);
      closeUntaken();
      onEnd(signal ? `was ended by ${signal}` : `ended with code ${code}`, code ?? 1);
    });
    return { end: (signal) => worker.process.kill(signal) };
  };
}

/** Returns the channel to a process. Messages to a process that is about to end are dropped; its exit is reported separately. */
function askable(worker: Worker): Askable {
  return {
    tell: (order) => {
      if (worker.isConnected()) {
        worker.send(order, () => undefined);
      }
    },
  };
}

interface Closable {
  close(): void;
}

/**
 * Works around a gap in Node: a connection sent to a process that dies before accepting it is lost, and its client would wait forever.
 * Remembers the last connection sent per address, the only one that may not have been accepted yet. The returned function closes them,
 * which has no effect on accepted ones.
 */
function rememberConnections({ process }: Worker): () => void {
  const last = new Map<unknown, Closable>();
  const send = process.send.bind(process) as (...sent: unknown[]) => boolean;
  process.send = (...sent: unknown[]) => {
    const [message, connection] = sent as [{ readonly key?: unknown } | undefined, Closable | undefined];
    if (connection && typeof connection.close === 'function') {
      last.set(message?.key, connection);
    }
    return send(...sent);
  };
  return () => {
    for (const connection of last.values()) {
      connection.close();
    }
  };
}

import { QUEUE_FAMILIES, type QueueFamily } from '../queues/define-job.ts';
import { isPoolName } from '../queues/queue-name.ts';

/** The queues that a worker process serves. */
export interface QueueSelection {
  /** Engine pools; `all` means every configured one. */
  readonly pools: 'all' | readonly string[];
  readonly families: ReadonlySet<QueueFamily>;
}

/** `--queues` is invalid. The message is one line for the operator. */
export class QueueSelectionError extends Error {
  override readonly name = 'QueueSelectionError';
}

/**
 * Parses `--queues=generate:gpu,postprocess,webhooks,maintenance` from the command line; without it a process serves everything.
 * `generate` alone means every pool. The relay runs where `maintenance` does. Throws QueueSelectionError.
 */
export function parseQueueSelection(args: readonly string[]): QueueSelection {
  const option = args.find((arg) => arg.startsWith('--queues='));
  const unknown = args.find((arg) => arg !== option);
  if (unknown !== undefined) {
    throw new QueueSelectionError(`unknown argument ${unknown}; the only supported one is --queues=…`);
  }
  if (option === undefined) {
    return { pools: 'all', families: new Set(QUEUE_FAMILIES) };
  }
  const families = new Set<QueueFamily>();
  const pools: string[] = [];
  let allPools = false;
  for (const name of option.slice('--queues='.length).split(',')) {
    const [family, pool] = name.split(':', 2);
    const known = QUEUE_FAMILIES.find((candidate) => candidate === family);
    const poolFits = pool === undefined || (known === 'generate' && isPoolName(pool));
    if (!known || !poolFits) {
      throw new QueueSelectionError(
        `--queues: ${name} is not one of generate[:pool], postprocess, webhooks, maintenance`,
      );
    }
    families.add(known);
    allPools ||= known === 'generate' && pool === undefined;
    if (pool !== undefined) {
      pools.push(pool);
    }
  }
  return { pools: allPools ? 'all' : pools, families };
}

/** Returns whether an engine pool's queue is selected. */
export function servesPool({ families, pools }: QueueSelection, pool: string): boolean {
  return families.has('generate') && (pools === 'all' || pools.includes(pool));
}

import { startMeters } from '../measure/processor-time.ts';
import type { Turn } from './load.ts';
import type { BenchTarget } from './targets.ts';

/** A turn, with the ms of processor time that each process spent per call. */
export interface MeteredTurn extends Turn {
  readonly msPerCall: Readonly<Record<string, number>>;
}

export interface Measurement {
  readonly targets: readonly BenchTarget[];
  readonly take: (target: BenchTarget) => Promise<Turn>;
}

/** The turns of each target, in the order of the rounds. */
export type Turns = ReadonlyMap<BenchTarget, readonly MeteredTurn[]>;

/**
 * Runs all measurements, round after round. In each, the targets take turns, in the opposite order every other round, so that other work of
 * the machine affects them equally. Returns the turns of each measurement.
 */
export async function runRounds<Name extends string>(
  measurements: Readonly<Record<Name, Measurement>>,
  rounds: number,
  onStep: (text: string) => void,
): Promise<Readonly<Record<Name, Turns>>> {
  const names = Object.keys(measurements) as Name[];
  const found = Object.fromEntries(
    names.map((name) => [name, new Map<BenchTarget, MeteredTurn[]>()]),
  ) as Record<Name, Map<BenchTarget, MeteredTurn[]>>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      onStep(`round ${round + 1} of ${rounds}: ${name}`);
      const { targets, take } = measurements[name];
      for (const target of round % 2 === 0 ? targets : [...targets].reverse()) {
        const turns = found[name].get(target) ?? [];
        turns.push(await metered(target, take));
        found[name].set(target, turns);
      }
    }
  }
  return found;
}

async function metered(target: BenchTarget, take: Measurement['take']): Promise<MeteredTurn> {
  const stop = startMeters(target.meters);
  const turn = await take(target);
  const calls = turn.latenciesMs.length;
  return { ...turn, msPerCall: Object.fromEntries(stop().map(([name, ms]) => [name, ms / calls])) };
}

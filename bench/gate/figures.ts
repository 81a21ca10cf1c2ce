/** The figures that the gate compares. */
export const FIGURES = {
  statements: { title: 'statements, one call at a time', digits: 2 },
  walBytes: { title: 'WAL bytes, one call at a time', digits: 0 },
  allocatedBytes: { title: 'bytes allocated by the API, one call at a time', digits: 0 },
  walFsyncs: { title: 'WAL fsyncs, one call at a time', digits: 2 },
  processorRatio: { title: 'processor time at 128 connections ÷ that of node:http + undici', digits: 2 },
  crowdWalBytes: { title: 'WAL bytes at 128 connections', digits: 0 },
  crowdProcessorMs: { title: 'ms of processor time at 128 connections', digits: 3 },
} as const;

export type FigureName = keyof typeof FIGURES;

/** Values per call. A short measurement leaves out the slow ones. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

interface Bounds {
  /** Share by which the figure may exceed the committed one. */
  readonly whole: number;
  /** The same for the short form, which may run on a busy machine. Undefined when the short form only reports the figure. */
  readonly short: number | undefined;
}

/**
 * Figures that depend on the code alone are judged everywhere; WAL gets extra room in the short form, for the vacuum of a slow machine.
 * Processor time is judged by the full gate only: a busy machine lengthens it, although both sides of the ratio run on the same machine.
 * Figures without bounds are only reported.
 */
const BOUNDS: Readonly<Partial<Record<FigureName, Bounds>>> = {
  statements: { whole: 0.1, short: 0.1 },
  walBytes: { whole: 0.1, short: 0.2 },
  allocatedBytes: { whole: 0.1, short: 0.1 },
  walFsyncs: { whole: 0.1, short: undefined },
  processorRatio: { whole: 0.1, short: undefined },
};

export type Verdict = 'passed' | 'failed' | 'told' | 'no figure to compare with';

export interface Judged {
  readonly name: FigureName;
  readonly committed: number | undefined;
  readonly measured: number;
  /** Share by which it may exceed the committed figure; undefined when it is only reported. */
  readonly bound: number | undefined;
  readonly verdict: Verdict;
}

/** Compares the measured figures with the committed ones. */
export function judge(measured: Figures, committed: Figures, isShort: boolean): Judged[] {
  return (Object.keys(FIGURES) as FigureName[]).flatMap((name) => {
    const [value, former] = [measured[name], committed[name]];
    const bound = BOUNDS[name]?.[isShort ? 'short' : 'whole'];
    return value === undefined
      ? []
      : [{ name, committed: former, measured: value, bound, verdict: verdictOn(value, former, bound) }];
  });
}

function verdictOn(measured: number, committed: number | undefined, bound: number | undefined): Verdict {
  if (bound === undefined) {
    return 'told';
  }
  if (committed === undefined) {
    return 'no figure to compare with';
  }
  return measured > committed * (1 + bound) ? 'failed' : 'passed';
}

/** Returns the table of the gate; the first row is the head. */
export function gateRows(judged: readonly Judged[]): string[][] {
  const text = (name: FigureName, value: number | undefined) =>
    value?.toLocaleString('en', {
      minimumFractionDigits: FIGURES[name].digits,
      maximumFractionDigits: FIGURES[name].digits,
    }) ?? '';
  return [
    ['per call', 'committed', 'now', 'change', 'may grow by', ''],
    ...judged.map(({ name, committed, measured, bound, verdict }) => [
      FIGURES[name].title,
      text(name, committed),
      text(name, measured),
      committed === undefined ? '' : percent(measured / committed - 1),
      bound === undefined ? '' : percent(bound),
      verdict,
    ]),
  ];
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;
}

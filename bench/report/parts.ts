/** A section of docs/benchmarks.md and the script that writes it. */
export interface Part {
  readonly name: string;
  /** The title of its section. */
  readonly title: string;
  /** Path relative to `bench/`. */
  readonly script: string;
  readonly options: readonly string[];
  /** Runs only when named: takes half an hour or more. */
  readonly isLong: boolean;
}

/** The oldest Node that the product supports, and the slowest. Figures quoted elsewhere were measured on it. */
export const QUOTED_NODE = '20';

/** In the order they run. */
const PARTS: readonly Part[] = [
  part('ledger', 'Ledger', 'ledger/main.ts'),
  part('chat', 'Chat calls', 'chat/main.ts'),
  part('processes', 'Several API processes', 'chat/main.ts', ['--processes']),
  part('tasks', 'Tasks', 'tasks/main.ts'),
  part('reports', 'Reports', 'reports/main.ts'),
  { ...part('ledger-sustained', 'Ledger, sustained', 'ledger/main.ts', ['--sustained']), isLong: true },
  { ...part('ledger-grown', 'Ledger, grown', 'ledger/main.ts', ['--grown']), isLong: true },
];

function part(name: string, title: string, script: string, options: readonly string[] = []): Part {
  return { name, title, script, options, isLong: false };
}

/** Returns the named parts; without names, all that are not long. Throws for an unknown name. */
export function chosenParts(names: readonly string[]): readonly Part[] {
  const unknown = names.find((name) => PARTS.every((known) => known.name !== name));
  if (unknown !== undefined) {
    throw new Error(`Unknown part ${unknown}. Choose from: ${PARTS.map(({ name }) => name).join(', ')}`);
  }
  return PARTS.filter(({ name, isLong }) => (names.length === 0 ? !isLong : names.includes(name)));
}

/** Returns the heading of a part's section. Node versions other than the quoted one have separate sections. */
export function sectionTitle({ title }: Part, nodeMajor: string): string {
  return nodeMajor === QUOTED_NODE ? title : `${title}, Node ${nodeMajor}`;
}

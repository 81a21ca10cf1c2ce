/** A section of docs/benchmarks.md and what writes it. */
export interface Part {
  readonly name: string;
  /** What its section is called. */
  readonly title: string;
  /** Below `bench/`. */
  readonly script: string;
  readonly options: readonly string[];
  /** Runs only when it is named: half an hour or more. */
  readonly isLong: boolean;
}

/** The oldest Node that the product runs on, and the slowest: what is quoted elsewhere was measured on it. */
export const QUOTED_NODE = '20';

/** In the order in which they run. */
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

/** The parts of these names; without names all that are not long. Throws for a name that there is not. */
export function chosenParts(names: readonly string[]): readonly Part[] {
  const unknown = names.find((name) => PARTS.every((known) => known.name !== name));
  if (unknown !== undefined) {
    throw new Error(`${unknown} is none of ${PARTS.map(({ name }) => name).join(', ')}`);
  }
  return PARTS.filter(({ name, isLong }) => (names.length === 0 ? !isLong : names.includes(name)));
}

/** The heading of a part's section; other versions of Node than the quoted one have sections of their own. */
export function sectionTitle({ title }: Part, nodeMajor: string): string {
  return nodeMajor === QUOTED_NODE ? title : `${title}, Node ${nodeMajor}`;
}

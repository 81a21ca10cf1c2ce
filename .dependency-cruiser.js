/**
 * The house's directions (docs/architecture): a folder imports only from folders below it. The architecture test holds
 * what a path pattern cannot say (file and function sizes, barrels, who may touch which package).
 */

/** Lowest first. A place may import what stands before it and its own folder. */
const RANKS = [
  ['^src/lib/'],
  ['^src/config/', '^queues/'],
  ['^src/store/', '^src/processes/'],
  ['^src/http/', '^src/upstream/'],
  ['^src/providers/', '^src/engines/', '^src/media/'],
  ['^src/ledger/'],
  ['^src/keys/', '^src/catalog/', '^src/generations/'],
  ['^src/usage/', '^src/credits/', '^src/billing/', '^src/console/'],
  ['^src/invocation/', '^src/tasks/', '^src/webhooks/'],
  ['^src/remote-workers/'],
  ['^src/operators/', '^src/telemetry/'],
  ['^src/examples/'],
  ['^src/api-examples\\.ts$'],
  ['^src/(app|customer-routes|api-description)\\.ts$'],
  ['^src/compose/'],
  ['^src/(server|api-process)\\.ts$', '^workers/'],
];

const ranks = RANKS.flatMap((places, rank) =>
  places.map((place) => ({
    name: `direction-${place.replace(/[^a-z]/g, '')}`,
    comment: `${place} imports only its own folder and what stands below it`,
    severity: 'error',
    from: { path: place, pathNot: '\\.test\\.ts$' },
    to: {
      path: RANKS.slice(rank)
        .flat()
        .filter((other) => other !== place),
    },
  })),
);

/** The web console's own order: what comes earlier knows nothing of what comes later. */
const CONSOLE = [
  ['^console/lib/'],
  ['^console/api/'],
  ['^console/ui/'],
  ['^console/pages/', '^console/operator/'],
  ['^console/(app|main|routes|shell)\\.tsx$'],
];

const consoleRanks = CONSOLE.slice(0, -1).flatMap((places, rank) =>
  places.map((place) => ({
    name: `direction-${place.replace(/[^a-z]/g, '')}`,
    comment: `${place} imports only its own folder and what stands below it`,
    severity: 'error',
    from: { path: place },
    to: {
      path: CONSOLE.slice(rank)
        .flat()
        .filter((other) => other !== place),
    },
  })),
);

export default {
  forbidden: [
    ...ranks,
    ...consoleRanks,
    {
      name: 'console-speaks-http-only',
      comment: 'the console knows of the service what its documented API says',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|queues|workers|migrations|ops|test|bench)/' },
    },
    {
      name: 'service-does-not-know-the-console',
      severity: 'error',
      from: { path: '^(src|queues|workers|migrations)/' },
      to: { path: '^console/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'product-does-not-know-its-tests',
      severity: 'error',
      from: { path: '^(src|queues|workers|migrations|ops)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'migrations-are-frozen',
      comment:
        'a migration that imports the product changes when the product does; run.ts is the program that applies them',
      severity: 'error',
      from: { path: '^migrations/', pathNot: '^migrations/run\\.ts$' },
      to: { path: '^(src|queues|workers|ops)/' },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: { path: '^(src|queues|workers|migrations)/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    { name: 'not-resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // what clients' programs need is installed outside of the repository
    exclude: { path: '(^|/)(dist|\\.data)/|^test/languages/programs/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};

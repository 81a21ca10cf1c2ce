import type { RowResults } from '../clients/client-rows.ts';

/** The columns of the table in docs/clients.md, with the cases of each. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  'answer, stream': ['simple', 'stream'],
  tools: ['tools'],
  structured: ['structured'],
  usage: ['usage'],
  models: ['models'],
  refusals: ['wrong key', 'no credits', 'bad request', 'unknown model', 'rate limit', 'provider fails'],
  'breaks off': ['breaks off'],
  cancel: ['cancel'],
  'time-out': ['time-out'],
  'asks again': ['asked again', 'asked again with a key'],
  'too long': ['too long'],
  'gives up': ['gives up'],
  responses: ['responses', 'responses, stream'],
  embeddings: ['embeddings'],
  'images, videos': ['images', 'videos'],
};

/** Returns the table of clients and cases, in few columns: ✓ when every case passed, – when the client has none of them, ✗ otherwise. */
export function clientMatrix(rows: RowResults['rows']): string[][] {
  const clients = [...new Set(rows.filter(({ call }) => call === 'simple').map(({ client }) => client))];
  const cell = (client: string, cases: readonly string[]) => {
    const seen = rows.filter((row) => row.client === client && cases.includes(row.call));
    return seen.length === 0 ? '–' : seen.every(({ isRight }) => isRight) ? '✓' : '✗';
  };
  return [
    ['Client', ...Object.keys(COLUMNS)],
    ...clients.map((client) => [client, ...Object.values(COLUMNS).map((cases) => cell(client, cases))]),
  ];
}

export type StatementFormat = 'json' | 'pdf' | 'csv';

const SUFFIX = /^(.+)\.(pdf|csv)$/;

/** Returns the requested form of a statement: the id's suffix, else the first form that `Accept` names, else JSON. */
export function statementFormat(
  text: string,
  accept: string | undefined,
): { id: string; form: StatementFormat } {
  const [, id, suffix] = SUFFIX.exec(text) ?? [];
  if (id !== undefined && suffix !== undefined) {
    return { id, form: suffix as StatementFormat };
  }
  for (const part of (accept ?? '').toLowerCase().split(',')) {
    const type = part.split(';', 1)[0]?.trim();
    if (type === 'application/json') {
      break;
    }
    if (type === 'application/pdf' || type === 'text/csv') {
      return { id: text, form: type === 'text/csv' ? 'csv' : 'pdf' };
    }
  }
  return { id: text, form: 'json' };
}

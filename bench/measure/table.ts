import { cpus, totalmem } from 'node:os';

/** Returns a markdown table; the first row is the head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}

/** Describes the machine that the figures were measured on. */
export function machineFacts(): string {
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${gib} GiB, Node ${process.versions.node}, ${process.platform}`;
}

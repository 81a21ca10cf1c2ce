/**
 * Merges the output of several registries into one text in Prometheus' format, in which the lines of a metric must be grouped. Nothing is
 * summed: a label per process distinguishes the lines, as it does for several hosts.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { readonly head: string; readonly samples: string[] }>();
  for (const block of texts.flatMap((text) =>
    text.split(/\n+(?=# HELP )/).filter((part) => part.trim() !== ''),
  )) {
    const [help = '', type = '', ...samples] = block.trimEnd().split('\n');
    const family = families.get(help) ?? { head: `${help}\n${type}`, samples: [] };
    family.samples.push(...samples);
    families.set(help, family);
  }
  const blocks = [...families.values()].map(({ head, samples }) => [head, ...samples].join('\n'));
  return `${blocks.join('\n\n')}\n`;
}

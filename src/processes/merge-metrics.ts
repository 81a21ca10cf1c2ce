/**
 * Puts what several registries say into one text in Prometheus' form, in which the lines of a metric must stand together. Nothing is
 * summed: each process marks its lines with a label of its own, as those of several hosts are told apart.
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

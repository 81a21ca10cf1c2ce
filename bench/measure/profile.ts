import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Summarizes the V8 CPU profile in `folder`: the share of busy time by package or folder. */
export function profileSummary(folder: string, rows = 25): [string, number][] {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) {
    throw new Error(`no CPU profile in ${folder}`);
  }
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const selfUs = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const frame = nodes.get(id);
    const place = frame === undefined ? '?' : placeOf(frame.url, frame.functionName);
    selfUs.set(place, (selfUs.get(place) ?? 0) + (profile.timeDeltas[index] ?? 0));
  });
  selfUs.delete('(idle)');
  const busy = [...selfUs.values()].reduce((sum, value) => sum + value, 0);
  return [...selfUs]
    .map(([place, value]): [string, number] => [place, value / busy])
    .sort((a, b) => b[1] - a[1])
    .slice(0, rows);
}

function placeOf(url: string, functionName: string): string {
  if (url === '') {
    return functionName;
  }
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url);
  if (inPackage?.[1] !== undefined) {
    return inPackage[1];
  }
  const ours = /\/dist\/(.+)$/.exec(url);
  return ours?.[1] ?? url;
}

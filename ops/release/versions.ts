import { ReleaseRefused } from './release-refused.ts';

/** Every place that contains the version: the file, and a pattern of the text before, of and after the version. */
const PLACES: readonly (readonly [file: string, pattern: RegExp])[] = [
  ['package.json', /^( {2}"version": ")([^"]+)(")/m],
  ['package-lock.json', /^( {2}"version": ")([^"]+)(")/m],
  // that of the package itself, which precedes its dependencies
  ['package-lock.json', /^( {6}"version": ")([^"]+)(")/m],
  ['openapi.json', /^( {4}"version": ")([^"]+)(")/m],
  ['ops/helm/tollgate/Chart.yaml', /^(version: )(\S+)()$/m],
  ['ops/helm/tollgate/Chart.yaml', /^(appVersion: ")([^"]+)(")$/m],
];

/** Files that contain the version. */
export const VERSIONED_FILES: readonly string[] = [...new Set(PLACES.map(([file]) => file))];

/** Returns the version that all files contain, given their texts by name. Throws ReleaseRefused if they differ. */
export function commonVersion(texts: ReadonlyMap<string, string>): string {
  const said = PLACES.map(
    ([file, pattern]) => [file, pattern.exec(texts.get(file) ?? '')?.[2] ?? 'no version'] as const,
  );
  const [first] = said;
  if (first === undefined || said.some(([, version]) => version !== first[1])) {
    throw new ReleaseRefused(
      `the files do not agree on the version: ${said.map((one) => one.join(' has ')).join(', ')}`,
    );
  }
  return first[1];
}

/** Returns the texts by name with another version in each place. */
export function withVersion(texts: ReadonlyMap<string, string>, version: string): Map<string, string> {
  const changed = new Map(texts);
  for (const [file, pattern] of PLACES) {
    const text = changed.get(file) ?? '';
    changed.set(
      file,
      text.replace(pattern, (_all, before: string, _old: string, after: string) => before + version + after),
    );
  }
  return changed;
}

/** Compares two versions X.Y.Z: below zero if `one` is older than `other`. */
export function compareVersions(one: string, other: string): number {
  const [ones, others] = [one.split('.').map(Number), other.split('.').map(Number)];
  const differing = ones.findIndex((number, place) => number !== others[place]);
  return differing < 0 ? 0 : (ones[differing] ?? 0) - (others[differing] ?? 0);
}

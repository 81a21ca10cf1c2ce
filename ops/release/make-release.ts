import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { moveUnreleased, newestVersion } from './changelog.ts';
import { ReleaseRefused } from './release-refused.ts';
import type { Repository } from './repository.ts';
import { commonVersion, compareVersions, VERSIONED_FILES, withVersion } from './versions.ts';

const CHANGELOG = 'CHANGELOG.md';
/** Migrations and database functions; the rest of the folder is the program that applies them. */
const MIGRATION = /^migrations\/(\d{4}-[^/]+\.ts|functions\/[^/]+\.sql)$/;

/**
 * Creates release X.Y.Z from what is committed: updates the version in every file that contains it and the section in the
 * changelog, and makes one commit and an annotated tag `vX.Y.Z`, whose name it returns. `date` is YYYY-MM-DD. Nothing leaves the
 * machine. Throws ReleaseRefused before anything is changed, and rethrows errors of git.
 */
export async function makeRelease(repository: Repository, version: string, date: string): Promise<string> {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version)) {
    throw new ReleaseRefused(`"${version}" is not a version like 1.2.3`);
  }
  const tag = `v${version}`;
  const unclean = await repository.changedFiles();
  if (unclean.length > 0) {
    throw new ReleaseRefused(
      `uncommitted files, commit or remove them first: ${unclean.slice(0, 5).join(', ')}`,
    );
  }
  if (await repository.hasTag(tag)) {
    throw new ReleaseRefused(`${tag} already exists`);
  }
  const files = [CHANGELOG, ...VERSIONED_FILES];
  const entries = await Promise.all(
    files.map(async (file) => [file, await readFile(join(repository.folder, file), 'utf8')] as const),
  );
  const texts = new Map(entries);
  const changelog = texts.get(CHANGELOG) ?? '';
  const previousTag = await repository.newestRelease();
  const previous = previousTag?.slice(1) ?? null;
  refuseVersion(version, { present: commonVersion(texts), previous, told: newestVersion(changelog) });
  const migrates =
    previousTag === null ||
    (await repository.filesChangedSince(previousTag, 'migrations')).some((file) => MIGRATION.test(file));
  const changed = withVersion(texts, version);
  changed.set(CHANGELOG, moveUnreleased(changelog, { version, date, previous, migrates }));
  for (const [file, text] of changed) {
    await writeFile(join(repository.folder, file), text);
  }
  await repository.commit(files, `Release ${version}`);
  await repository.tag(tag, `Tollgate ${version}`);
  return tag;
}

interface KnownVersions {
  /** The version in the files. */
  readonly present: string;
  /** The newest release tag among the ancestors. */
  readonly previous: string | null;
  /** The newest version in the changelog. */
  readonly told: string | null;
}

function refuseVersion(version: string, { present, previous, told }: KnownVersions): void {
  if (told !== previous) {
    throw new ReleaseRefused(
      `the newest release is ${told ?? 'none'} in CHANGELOG.md and ${previous ?? 'none'} by its tag: fetch the tags`,
    );
  }
  if (previous !== null && previous !== present) {
    throw new ReleaseRefused(`the files contain version ${present}, but the newest release is ${previous}`);
  }
  const order = compareVersions(version, present);
  if (order < 0 || (order === 0 && previous !== null)) {
    throw new ReleaseRefused(`${version} is not newer than ${present}`);
  }
}

import { ReleaseRefused } from './release-refused.ts';

/** Facts about a release. */
export interface ReleaseFacts {
  /** X.Y.Z */
  readonly version: string;
  /** YYYY-MM-DD, UTC. */
  readonly date: string;
  /** The previous version; null if there is none. */
  readonly previous: string | null;
  /** Whether migrations or database functions have changed since the previous version. */
  readonly migrates: boolean;
}

const UNRELEASED = 'Unreleased';

/**
 * Moves the section "Unreleased" of the changelog under the version and date of the release, and adds an empty one before it. The
 * second line of the section must say truthfully whether there are migrations, and to which release one may go back; for the
 * first release it is written here. Throws ReleaseRefused.
 */
export function moveUnreleased(changelog: string, facts: ReleaseFacts): string {
  const { version, date, previous, migrates } = facts;
  const section = sectionOf(changelog, UNRELEASED);
  const [line = '', ...rest] = section.text.split('\n');
  const changes = rest.join('\n').trim();
  if (changes === '') {
    throw new ReleaseRefused('CHANGELOG.md has nothing under "Unreleased"');
  }
  const released = previous === null ? lineOf(migrates, 'no, it is the first release') : line;
  const refusal = previous === null ? undefined : refuseLine(line, previous, migrates);
  if (refusal !== undefined) {
    throw new ReleaseRefused(`CHANGELOG.md, second line of "Unreleased": ${refusal}`);
  }
  const next = `## ${UNRELEASED}\n\n${lineOf(false, `yes, to ${version}`)}\n`;
  const text = `${next}\n## ${version} - ${date}\n\n${released}\n\n${changes}\n`;
  const after = changelog.slice(section.end);
  return changelog.slice(0, section.start) + text + (after === '' ? '' : `\n${after}`);
}

/** Returns the section of a version without its heading, for readers of the release elsewhere. Throws ReleaseRefused. */
export function notesOf(changelog: string, version: string): string {
  return `${sectionOf(changelog, version).text.trim()}\n`;
}

/** Returns the newest version that has a section; null if nothing was released. */
export function newestVersion(changelog: string): string | null {
  return /^## (\d+\.\d+\.\d+)\b/m.exec(changelog)?.[1] ?? null;
}

function lineOf(migrates: boolean, back: string): string {
  return `Migrations: ${migrates ? 'yes' : 'no'}. May go back: ${back}.`;
}

/** Returns what is wrong with the line; undefined if nothing is. */
function refuseLine(line: string, previous: string, migrates: boolean): string | undefined {
  const [, said, back = ''] = /^Migrations: (yes|no)\. May go back: (.+)\.$/.exec(line) ?? [];
  if (said === undefined) {
    return `"${line}" is not of the form "Migrations: yes|no. May go back: yes, to ${previous}|no, …."`;
  }
  if ((said === 'yes') !== migrates) {
    return `it says "Migrations: ${said}", but migrations ${migrates ? 'changed' : 'did not change'} since ${previous}`;
  }
  return back === `yes, to ${previous}` || /^no\b/.test(back)
    ? undefined
    : `say "May go back: yes, to ${previous}." or "May go back: no, …."`;
}

interface Section {
  /** Offset of its heading. */
  readonly start: number;
  readonly end: number;
  /** Text below the heading. */
  readonly text: string;
}

function sectionOf(changelog: string, name: string): Section {
  const headings = [...changelog.matchAll(/^## ([^\s]+).*\n/gm)];
  const place = headings.findIndex(([, heading]) => heading === name);
  const found = headings[place];
  if (found === undefined) {
    throw new ReleaseRefused(`CHANGELOG.md has no section "${name}"`);
  }
  const end = headings[place + 1]?.index ?? changelog.length;
  return {
    start: found.index,
    end,
    text: changelog.slice(found.index + found[0].length, end).trim(),
  };
}

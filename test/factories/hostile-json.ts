import fc from 'fast-check';

const hostileText = fc
  .array(
    fc.constantFrom('\0', '\ud83d', '\ude00', '\\', '"', '\n', '\u2028', '😀', 'stop', 'a'.repeat(1_998)),
  )
  .map((parts) => parts.join(''));
const other = fc.constantFrom<unknown>(
  null,
  true,
  -1,
  0,
  0.5,
  3,
  1e300,
  2 ** 53,
  '7',
  [],
  {},
  [null],
  [{}],
  undefined,
);

/** What nobody expects as a member of an answer: text that a database rejects, other types, numbers that are none. */
export const hostileValue = fc.oneof(hostileText, other);

/** Returns every member inside a JSON value. */
function membersOf(json: unknown): { readonly owner: Record<string, unknown>; readonly name: string }[] {
  if (typeof json !== 'object' || json === null) {
    return [];
  }
  const owner = json as Record<string, unknown>;
  return Object.keys(owner).flatMap((name) => [{ owner, name }, ...membersOf(owner[name])]);
}

/** Returns the text of a JSON object with another value for one of its members, the `place`th of them. Other text stays as it is. */
export function withMember(data: string, place: number, value: unknown): string {
  if (!data.startsWith('{')) {
    return data;
  }
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return data;
  }
  const members = membersOf(json);
  const member = members[place % Math.max(1, members.length)];
  if (member) {
    member.owner[member.name] = value;
  }
  return JSON.stringify(json);
}

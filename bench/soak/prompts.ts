import { randomBytes } from 'node:crypto';

/** What clients really send: no prompt repeats, and each has words that no vocabulary knows. */
export const VOCABULARIES = ['prose', 'code', 'cjk', 'base64', 'json'] as const;
export type Vocabulary = (typeof VOCABULARIES)[number];

/** Starts every prompt, so that a retained prompt can be found in a heap snapshot. */
export const PROMPT_MARKER = 'xqpromptofthesoak';

const COMMON =
  'the of and to in is that it was for on are as with his they at be this have from or one had by word'.split(
    ' ',
  );
const CHARACTERS_PER_WORD = 12;

/** Returns a prompt of about `length` UTF-16 units in one of the vocabularies, with unique words throughout. */
export function promptOf(vocabulary: Vocabulary, length: number): string {
  const part = PARTS[vocabulary];
  const parts = [`${PROMPT_MARKER} `];
  for (let have = 0; have < length; ) {
    const next = part();
    parts.push(next);
    have += next.length;
  }
  return parts.join('');
}

/** Returns a prompt size as agents and chats have them: mostly a few kB, occasionally 100 kB. In UTF-16 units. */
export function ordinaryLength(): number {
  return Math.round(200 * 500 ** (Math.random() ** 3));
}

/** Returns random letters that occur nowhere else. */
export function unseenWord(letters = 16): string {
  let word = '';
  while (word.length < letters) {
    word += String.fromCharCode(97 + randomBelow(26));
  }
  return word;
}

/** Returns an integer from 0 up to, but excluding, `limit`. */
export function randomBelow(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function commonWords(count: number): string {
  return Array.from({ length: count }, () => COMMON[randomBelow(COMMON.length)]).join(' ');
}

const PARTS: Readonly<Record<Vocabulary, () => string>> = {
  prose: () => `${commonWords(60)} ${unseenWord()}. `,
  code: () =>
    `  const ${unseenWord(7)}${capital()} = await ${COMMON[randomBelow(COMMON.length)]}.${unseenWord(5)}(${randomBelow(9_999)});\n`,
  cjk: () => `${characters(CHARACTERS_PER_WORD)}、的是不了人我在有他这为之大来以个中上们${characters(6)}。`,
  base64: () => `${randomBytes(48).toString('base64')}\n${commonWords(8)} `,
  json: () => JSON.stringify({ id: randomBelow(1e9), name: unseenWord(), tags: [commonWords(3)], ok: true }),
};

function capital(): string {
  return `${unseenWord(1).toUpperCase()}${unseenWord(6)}`;
}

function characters(count: number): string {
  return Array.from({ length: count }, () => String.fromCharCode(0x4e00 + randomBelow(0x51a5))).join('');
}

export const SCENE_NAMES = ['paper', 'nebula', 'waves'] as const;

export type SceneName = (typeof SCENE_NAMES)[number];

export interface PromptHints {
  readonly scene: SceneName | undefined;
  /** OKLCH hue in degrees. */
  readonly hue: number | undefined;
  readonly mood: 'dark' | 'light' | undefined;
}

const SCENE_WORDS: readonly [RegExp, SceneName][] = [
  [
    /\b(galax|nebula|cosm|universe|outer space|astro|planet|star|night|midnight|aurora|northern lights)/,
    'nebula',
  ],
  [/\b(ocean|sea\b|wave|surf|beach|coast|dune|river|underwater|silk|fabric|liquid|flow|satin)/, 'waves'],
  [/\b(mountain|hill|valley|landscape|alps|forest|lake|horizon|fog|mist)/, 'paper'],
  [/\b(paper|canyon|layer|map|topograph|cave|coral|origami|papercut|abstract)/, 'paper'],
];

const HUE_WORDS: readonly [RegExp, number][] = [
  [/\b(crimson|scarlet|ruby|red\b|blood)/, 25],
  [/\b(rose|pink|blossom|sakura|flamingo)/, 2],
  [/\b(sunset|sunrise|ember|fire|lava|orange|copper|autumn)/, 48],
  [/\b(gold|amber|honey|desert|sand|yellow|lemon|dune)/, 80],
  [/\b(lime|spring|moss|meadow|olive)/, 120],
  [/\b(forest|jungle|emerald|green|pine|leaf)/, 152],
  [/\b(aurora|teal|turquoise|mint|lagoon|jade)/, 180],
  [/\b(ice|arctic|cyan|glacier|winter|snow)/, 220],
  [/\b(ocean|sea\b|sky|blue|sapphire|rain|river)/, 250],
  [/\b(indigo|midnight|twilight|galax|cosm|nebula)/, 282],
  [/\b(violet|purple|lavender|amethyst|plum|neon)/, 308],
  [/\b(magenta|fuchsia|orchid)/, 335],
];

const DARK_WORDS = /\b(night|dark|midnight|noir|shadow|space|galax|nebula|storm|moody|neon|cosm)/;
const LIGHT_WORDS =
  /\b(pastel|morning|sunset|sunrise|golden|snow|soft|light|bright|cloud|white|dawn|spring|blossom|gentle)/;

/**
 * Returns what simple words in the prompt suggest. This engine does not understand language: a few dozen words influence its choice of
 * scene and colors; everything else comes from the hash of the prompt.
 */
export function promptHints(prompt: string): PromptHints {
  const text = prompt.toLowerCase();
  const dark = DARK_WORDS.test(text);
  const light = LIGHT_WORDS.test(text);
  return {
    scene: SCENE_WORDS.find(([pattern]) => pattern.test(text))?.[1],
    hue: HUE_WORDS.find(([pattern]) => pattern.test(text))?.[1],
    mood: dark === light ? undefined : dark ? 'dark' : 'light',
  };
}

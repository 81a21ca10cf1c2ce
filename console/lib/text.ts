import { SharedValue } from './shared-value.ts';

/** The English text is the key: code shows what the page displays, and texts without a translation appear in English. */
type Translations = Readonly<Record<string, string>>;

export const LANGUAGES = { en: 'English', zh: '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

/** BCP 47 tags of readers of Simplified Chinese. Traditional Chinese is a different language for its readers. */
const SIMPLIFIED = /^zh(-(hans(-\w+)*|cn|sg|my))?$/i;

let translations: Translations = {};
const current = new SharedValue<Language>('en');

/** Translates a text into the language of the page; `{name}` is replaced by a value. */
export function t(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  const translated = translations[text] ?? text;
  return translated.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Returns the current language as a BCP 47 tag. */
export function language(): Language {
  return current.value;
}

/** Returns the language for a user who prefers a BCP 47 tag. */
export function languageFor(tag: string): Language {
  return SIMPLIFIED.test(tag) ? 'zh' : 'en';
}

/** Switches the page to a language. Its texts are loaded on first use. */
export async function setLanguage(next: Language): Promise<void> {
  translations = next === 'zh' ? (await import('../text/zh.ts')).ZH : {};
  document.documentElement.lang = next === 'zh' ? 'zh-Hans' : next;
  current.set(next);
}

/** Re-renders the component when the language changes. */
export function useLanguage(): Language {
  return current.use();
}

/** Formats a count with grouped digits: `1,204`. */
export function formatCount(value: number): string {
  return new Intl.NumberFormat(current.value).format(value);
}

/** Formats input and output tokens as `13 → 60`; a dash if there are none, as for images. */
export function formatTokens(usage: {
  readonly input_tokens: number;
  readonly output_tokens: number;
}): string {
  const { input_tokens: input, output_tokens: output } = usage;
  return input + output === 0 ? '–' : `${formatCount(input)} → ${formatCount(output)}`;
}

/** Formats a count in few characters: `8.1M`. */
export function shortCount(value: number): string {
  return new Intl.NumberFormat(current.value, { notation: 'compact', maximumFractionDigits: 1 }).format(
    value,
  );
}

/** Formats bytes, e.g. `1.5 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1_000 ** power;
  return `${new Intl.NumberFormat(current.value, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)} ${units[power]}`;
}

import { remember, remembered } from '../lib/device-store.ts';
import { SharedValue } from '../lib/shared-value.ts';
import { type Language, languageFor, setLanguage } from '../lib/text.ts';
import type { Zone } from '../lib/time.ts';

export type Theme = 'light' | 'dark' | 'system';

/** The user's settings on this device. */
export interface Settings {
  readonly theme: Theme;
  readonly zone: Zone;
}

const settings = new SharedValue<Settings>({ theme: 'system', zone: 'local' });
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

/** Restores the settings of this device. */
export async function loadSettings(): Promise<void> {
  const theme = remembered('theme');
  settings.set({
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    zone: remembered('zone') === 'utc' ? 'utc' : 'local',
  });
  showTheme();
  prefersDark.addEventListener('change', showTheme);
  // if the language file cannot be loaded, the page stays in English
  await setLanguage(languageFor(remembered('language') ?? navigator.language)).catch(() => undefined);
}

export async function changeLanguage(language: Language): Promise<void> {
  remember('language', language);
  await setLanguage(language);
}

export function changeSettings(change: Partial<Settings>): void {
  const changed = { ...settings.value, ...change };
  remember('theme', changed.theme);
  remember('zone', changed.zone);
  settings.set(changed);
  showTheme();
}

export function useSettings(): Settings {
  return settings.use();
}

function showTheme(): void {
  const { theme } = settings.value;
  const isDark = theme === 'dark' || (theme === 'system' && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

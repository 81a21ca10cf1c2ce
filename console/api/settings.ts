import { useEffect, useState } from 'preact/hooks';
import { remember, remembered } from '../lib/device-store.ts';
import { isLanguage, setLanguage } from '../lib/text.ts';
import type { Zone } from '../lib/time.ts';

export type Theme = 'light' | 'dark' | 'system';

/** What the viewer chose on this device. */
export interface Settings {
  readonly theme: Theme;
  readonly zone: Zone;
}

let settings: Settings = { theme: 'system', zone: 'local' };
const listeners = new Set<() => void>();
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

/** Brings back what was chosen on this device. */
export async function loadSettings(): Promise<void> {
  const theme = remembered('theme');
  settings = {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    zone: remembered('zone') === 'utc' ? 'utc' : 'local',
  };
  showTheme();
  prefersDark.addEventListener('change', showTheme);
  const chosen = remembered('language') ?? navigator.language;
  await setLanguage(isLanguage(chosen) ? chosen : 'en');
}

export function changeSettings(change: Partial<Settings>): void {
  settings = { ...settings, ...change };
  remember('theme', settings.theme);
  remember('zone', settings.zone);
  showTheme();
  for (const listener of listeners) {
    listener();
  }
}

export function useSettings(): Settings {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return settings;
}

function showTheme(): void {
  const isDark = settings.theme === 'dark' || (settings.theme === 'system' && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}

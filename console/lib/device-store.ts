/** Names of the settings stored on this device. Keys, sessions and amounts are never stored here. */
const NAMES = {
  theme: 'tollgate.theme',
  language: 'tollgate.language',
  zone: 'tollgate.zone',
  reloaded: 'tollgate.reloaded',
};
export type Remembered = keyof typeof NAMES;

/** Returns a stored setting; undefined if it is not stored, or if the browser stores nothing. */
export function remembered(name: Remembered): string | undefined {
  try {
    return localStorage.getItem(NAMES[name]) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a setting. If the browser refuses, the setting lasts until the page is closed; that is not an error. */
export function remember(name: Remembered, value: string | undefined): void {
  try {
    if (value === undefined) {
      localStorage.removeItem(NAMES[name]);
    } else {
      localStorage.setItem(NAMES[name], value);
    }
  } catch {
    return;
  }
}

const PROMPTS_MAX = 200;
const PROMPTS = 'tollgate.prompts';

/** Stores the prompts of this device's own tasks by task id: the server deletes them when a task ends. */
export function rememberPrompt(taskId: string, prompt: string): void {
  const kept = Object.entries(allPrompts()).slice(-(PROMPTS_MAX - 1));
  try {
    localStorage.setItem(PROMPTS, JSON.stringify(Object.fromEntries([...kept, [taskId, prompt]])));
  } catch {
    return;
  }
}

export function promptOf(taskId: string): string | undefined {
  return allPrompts()[taskId];
}

export function promptCount(): number {
  return Object.keys(allPrompts()).length;
}

export function forgetPrompts(): void {
  try {
    localStorage.removeItem(PROMPTS);
  } catch {
    return;
  }
}

function allPrompts(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(PROMPTS) ?? '{}') as Record<string, string>;
  } catch {
    return {};
  }
}

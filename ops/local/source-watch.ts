import { existsSync, type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

const QUIET_MS = 200;

/** Calls `onChange` with a changed file once the sources have not changed for a moment. Returns a function that stops this. */
export function watchSources(
  root: string,
  folders: readonly string[],
  onChange: (file: string) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onEvent = (folder: string, name: string | null) => {
    if (name === null || /\.test\.ts$|(^|\/)\.|~$/.test(name)) {
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(() => onChange(join(folder, name)), QUIET_MS);
  };
  const watchers: FSWatcher[] = folders
    .filter((folder) => existsSync(join(root, folder)))
    .map((folder) =>
      watch(join(root, folder), { recursive: true }, (_event, name) => onEvent(folder, name)).on(
        'error',
        () => undefined,
      ),
    );
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) {
      watcher.close();
    }
  };
}

/** Something that can reload its settings. */
interface Reloadable {
  reload(): Promise<unknown>;
}

/**
 * Makes SIGHUP, which would otherwise end the process, reload settings. A signal that arrives before `reload` is called is not lost: the
 * reload then runs at once.
 */
export function reloadOnSighup(): { reload(source: Reloadable): void } {
  let source: Reloadable | undefined;
  let wasAsked = false;
  process.on('SIGHUP', () => {
    wasAsked = true;
    void source?.reload();
  });
  return {
    reload: (given) => {
      source = given;
      if (wasAsked) {
        void given.reload();
      }
    },
  };
}

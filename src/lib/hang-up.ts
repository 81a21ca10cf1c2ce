/** Something that reads its settings again. */
interface Reloadable {
  reload(): Promise<unknown>;
}

/**
 * From now on SIGHUP, at which a process would end, reads settings again. One that comes while they are still being read for the first
 * time is made up for.
 */
export function followHangUp(): { reload(source: Reloadable): void } {
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

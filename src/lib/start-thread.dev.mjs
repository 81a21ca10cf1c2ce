// Node 20 cannot load TypeScript in a thread. From source (tests, development) a thread starts here and registers a loader
// first; the compiled build starts the thread's own file and never reads this one.
import { register } from 'tsx/esm/api';

register();
await import(process.argv[2]);

// Node 20 cannot load TypeScript in a thread. From source (tests, development) the thread starts here and registers a
// loader first; the compiled build starts render.worker.js directly and never reads this file.
import { register } from 'tsx/esm/api';

register();
await import('./render.worker.ts');

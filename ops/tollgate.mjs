#!/usr/bin/env node
// `npx tollgate` in a clone. Committed as executable, because files that the compiler writes are not.
import { existsSync } from 'node:fs';

const program = new URL('../dist/src/operators/cli/main.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('tollgate: it is not built yet: run npm run build\n');
  process.exitCode = 2;
}

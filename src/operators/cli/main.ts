#!/usr/bin/env node
import { terminalAsk } from './confirm.ts';
import { runCli } from './program.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  ask: terminalAsk(process.stdin, process.stderr),
});

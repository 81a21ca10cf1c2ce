// Jest calls a worker leaking that is not gone 500 ms after its last test. Taking down a heap of a gigabyte takes as long on a busy
// machine, and frees nothing that the end of the process does not: so it is left out. A worker with something open never gets here.
if (process.argv[1]?.includes('jest-worker')) {
  process.on('exit', () => process.exit());
}

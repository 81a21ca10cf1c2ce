// Loaded into a process of the product before its code: each SIGUSR2 moves its clock: an hour ahead, then an hour back, then to the real
// time.
const STEPS_MS = [3_600_000, -3_600_000, 0];
const RealDate = Date;
let step = -1;
let offsetMs = 0;

globalThis.Date = class extends RealDate {
  constructor(...parameters) {
    super(...(parameters.length === 0 ? [RealDate.now() + offsetMs] : parameters));
  }

  static now() {
    return RealDate.now() + offsetMs;
  }
};
process.on('SIGUSR2', () => {
  step = (step + 1) % STEPS_MS.length;
  offsetMs = STEPS_MS[step];
});
